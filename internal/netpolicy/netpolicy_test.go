package netpolicy_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation/operationtest"
)

const (
	policy = "storage"
	// moved gives the uplink another address, and a gateway that answers there.
	moved = `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","ipv4":{"enabled":true,"dhcp":false,` +
		`"address":[{"ip":"198.51.100.20","prefix-length":24}]}}],"routes":{"config":[` +
		`{"destination":"0.0.0.0/0","next-hop-interface":"br-ex","next-hop-address":"192.0.2.1","state":"absent"},` +
		`{"destination":"0.0.0.0/0","next-hop-interface":"br-ex","next-hop-address":"198.51.100.1","metric":48}]}}`
	// wrong names a gateway that is on no link.
	wrong = `{"routes":{"config":[{"destination":"0.0.0.0/0","next-hop-interface":"br-ex","next-hop-address":"192.0.2.1","state":"absent"},` +
		`{"destination":"0.0.0.0/0","next-hop-interface":"br-ex","next-hop-address":"203.0.113.1","metric":48}]}}`
	before, after = "192.0.2.10/24", "198.51.100.20/24"
)

// world is a node whose agent enacts policies.
type world struct {
	node  *hosttest.Node
	clock *operationtest.Clock
	bomb  *flowtest.Bomb
	kill  bool
	// manager: NetworkManager dies with the program.
	manager bool
	ops     int
	ask     netpolicy.Request
	runs    []error
}

func newWorld(kill bool) *world {
	w := &world{node: hosttest.NewNode(hosttest.Options{}), clock: &operationtest.Clock{Time: time.Unix(1e9, 0).UTC()}, kill: kill}
	w.ask = netpolicy.Request{Action: netpolicy.ActionApply, Policy: policy, UID: "u1", Generation: 1, Attempt: 1, Document: moved}
	w.node.Command("lca-cli network enact", func(ctx context.Context, _ []string) error {
		err := netpolicy.RunWrapped(ctx, w.ports(), operation.Instruments{}, w.bomb.In)
		w.runs = append(w.runs, err)
		if errors.Is(err, netpolicy.ErrNoRequest) {
			return nil
		}
		return err
	})
	return w
}

func (w *world) ports() netpolicy.Ports {
	return netpolicy.Ports{Node: w.node.Ports(), Clock: w.clock, Log: slog.New(slog.DiscardHandler)}
}

// request stores a request and starts the unit, as the agent does.
func (w *world) request(ctx context.Context, r netpolicy.Request) error {
	w.ops++
	r.OperationID = operation.NewID(w.clock.Time.Add(time.Duration(w.ops)*time.Hour), uint16(w.ops))
	if under, err := netpolicy.ReadRequest(w.node.Files()); err == nil {
		r.OperationID = under.OperationID
	}
	if err := netpolicy.Prepare(context.Background(), w.intake(), r); err != nil {
		return err
	}
	return w.start(ctx)
}

func (w *world) start(ctx context.Context) error {
	_ = w.node.Transients().Forget(ctx, netpolicy.Unit)
	return w.node.Transients().Launch(ctx, host.Transient{
		Unit: netpolicy.Unit, Argv: []string{host.CLI, "network", "enact"}, Restart: true})
}

func (w *world) enact(t *testing.T, r netpolicy.Request) netpolicy.Outcome {
	t.Helper()
	require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return w.request(ctx, r) }))
	require.NoError(t, w.node.Settle(t.Context(), 1))
	o, found, err := netpolicy.ReadOutcome(w.node.Files(), r.Policy)
	require.NoError(t, err)
	require.True(t, found)
	_, err = netpolicy.ReadRequest(w.node.Files())
	require.ErrorIs(t, err, netpolicy.ErrNoRequest)
	return o
}

// Live implements flowtest.World: the agent asks, and asks again after a failure or a power cut.
func (w *world) Live(bomb *flowtest.Bomb) error {
	w.bomb = bomb
	operationtest.Arm(bomb, w.node, w.kill)
	for range 4 {
		if w.manager {
			if err := w.node.RestartNetwork(); err != nil {
				return err
			}
		}
		if o, found, err := netpolicy.ReadOutcome(w.node.Files(), policy); err != nil || !found || o.Result == netpolicy.ResultFailed {
			err := w.node.Run(context.Background(), func(ctx context.Context) error { return w.request(ctx, w.ask) })
			if err != nil && !errors.Is(err, hosttest.PowerCut) {
				return err
			}
		} else if _, err := netpolicy.ReadRequest(w.node.Files()); err == nil {
			if err := w.node.Run(context.Background(), w.start); err != nil && !errors.Is(err, hosttest.PowerCut) {
				return err
			}
		}
		if err := w.node.Settle(context.Background(), 4); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) address() (string, error) {
	d, err := w.node.Network().Observe(context.Background())
	if err != nil {
		return "", err
	}
	for _, i := range d.Interfaces {
		if i.IPv4 == nil {
			continue
		}
		for _, a := range i.IPv4.Addresses {
			return netip.PrefixFrom(netip.MustParseAddr(a.IP), a.PrefixLength).String(), nil
		}
	}
	return "", errors.New("the node has no address")
}

// Judge implements flowtest.World: whatever happened, the policy is in force in the end, before and after a reboot, and the
// records say so.
func (w *world) Judge() (string, error) {
	for _, when := range []string{"now", "after a reboot"} {
		if at, err := w.address(); err != nil || at != after {
			return "", fmt.Errorf("%s the node is at %s: %w", when, at, err)
		}
		if err := w.node.Boot(context.Background()); err != nil {
			return "", err
		}
	}
	if _, err := netpolicy.ReadRequest(w.node.Files()); !errors.Is(err, netpolicy.ErrNoRequest) {
		return "", fmt.Errorf("a request is left: %w", err)
	}
	c, err := record.Store{Files: w.node.Files()}.Committed(policy)
	if err != nil || c.Generation != 1 || c.Revert == "" {
		return "", fmt.Errorf("record %+v: %w", c, err)
	}
	return "in force", nil
}

// Again implements flowtest.World: the policy is deleted, and the former network returns.
func (w *world) Again() error {
	w.bomb = nil
	c, err := record.Store{Files: w.node.Files()}.Committed(policy)
	if err != nil {
		return err
	}
	back := netpolicy.Request{Action: netpolicy.ActionRevert, Policy: policy, UID: "u1", Generation: 2, Attempt: 1, Document: c.Revert}
	if err := w.node.Run(context.Background(), func(ctx context.Context) error { return w.request(ctx, back) }); err != nil {
		return err
	}
	if err := w.node.Settle(context.Background(), 1); err != nil {
		return err
	}
	if at, err := w.address(); err != nil || at != before {
		return fmt.Errorf("reverted, and the node is at %s: %w", at, err)
	}
	_, err = record.Store{Files: w.node.Files()}.Committed(policy)
	if !errors.Is(err, record.ErrNone) {
		return fmt.Errorf("the record of a reverted policy is left: %w", err)
	}
	return nil
}

func TestCrashMatrix(t *testing.T) {
	for name, make := range map[string]func() *world{
		"power-cut": func() *world { return newWorld(false) },
		"killed":    func() *world { return newWorld(true) },
		"killed with NetworkManager": func() *world {
			w := newWorld(true)
			w.manager = true
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := netpolicy.Plan(make().ports(), netpolicy.Request{})
			require.NoError(t, plan.Validate())
			res := flowtest.Matrix(t, []flow.Plan{plan}, func(*testing.T) flowtest.World { return make() })
			t.Logf("%s: %s", name, res)
			require.Equal(t, res.Cells, res.Verdicts["in force"])
		})
	}
}

// A document that is in force already is applied by no transaction and proved by no probe.
func TestWhatIsInForceIsLeftAlone(t *testing.T) {
	w := newWorld(false)
	w.ask.Document = `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up"}]}`
	w.node.Silence(netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.53"))
	o := w.enact(t, w.ask)
	require.Equal(t, netpolicy.ResultUnchanged, o.Result)
	require.Empty(t, o.Required)
	history, err := record.Store{Files: w.node.Files()}.History()
	require.NoError(t, err)
	require.Empty(t, history, "there is nothing to undo")
}

func TestAWrongGatewayRollsBack(t *testing.T) {
	w := newWorld(false)
	w.ask.Document = wrong
	o := w.enact(t, w.ask)
	require.Equal(t, netpolicy.ResultFailed, o.Result)
	require.Equal(t, netpolicy.PhaseProbe, o.Evidence.Phase)
	require.Equal(t, "Gateway", o.Evidence.Probe.Name)
	require.Equal(t, "203.0.113.1", o.Evidence.Probe.Target)
	require.True(t, o.Evidence.RolledBack)
	require.False(t, o.Evidence.Permanent())
	require.False(t, o.Evidence.Passing)
	d, err := w.node.Network().Observe(t.Context())
	require.NoError(t, err)
	gw, _ := netstate.DefaultGateway(d, netstate.IPv4, "")
	require.Equal(t, "192.0.2.1", gw.String())
	_, err = record.Store{Files: w.node.Files()}.Committed(policy)
	require.ErrorIs(t, err, record.ErrNone)
}

// A node on which nothing answers cannot prove a change of its one uplink.
func TestAnUnprovableChangeOfTheOnlyUplinkIsRefused(t *testing.T) {
	w := newWorld(false)
	w.ask.Document = `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1400}]}`
	w.node.Silence(netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.53"))
	o := w.enact(t, w.ask)
	require.Equal(t, netpolicy.ResultFailed, o.Result)
	require.Contains(t, o.Evidence.Message, "the node's only uplink")
	require.True(t, o.Evidence.Passing, "a gateway may answer a moment later")
	w.node.Answer(netip.MustParseAddr("192.0.2.1"))
	o = w.enact(t, w.ask)
	require.Equal(t, netpolicy.ResultChanged, o.Result)
	require.Equal(t, []string{"probe Gateway"}, o.Required)
	require.NotEmpty(t, o.Skipped, "the name server did not answer before")
}

func TestAnInvalidDocumentIsRefusedForGood(t *testing.T) {
	w := newWorld(false)
	for document, says := range map[string]string{
		`{"interfaces":[{"name":"enp1s0","mtuu":9000}]}`: "mtuu",
		`{"interfaces":[{"name":"br-ex","type":"ovs-interface","ipv4":{"enabled":true,"address":[{"ip":"x","prefix-length":24}]}}]}`: "x",
	} {
		w.ask.Document = document
		o := w.enact(t, w.ask)
		require.Equal(t, netpolicy.ResultFailed, o.Result)
		require.True(t, o.Evidence.Permanent(), "%+v", o.Evidence)
		require.Contains(t, o.Evidence.Message, says)
	}
}

// Two generations of a policy, then its end: the node is as it was before the first.
func TestARevertReachesBackBeforeTheFirstGeneration(t *testing.T) {
	w := newWorld(false)
	require.Equal(t, netpolicy.ResultChanged, w.enact(t, w.ask).Result)
	second := w.ask
	second.Generation, second.Document = 2, `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1400}]}`
	require.Equal(t, netpolicy.ResultChanged, w.enact(t, second).Result)
	require.NoError(t, w.Again())
}

// stateroot is the booted one.
func (w *world) stateroot(t *testing.T) string {
	t.Helper()
	here, err := operation.LocateAny(t.Context(), w.node.Files(), w.node.Deployments(), w.node.Power())
	require.NoError(t, err)
	return here.Booted.Stateroot
}

// The clone of a stateroot has the history of the original, and another network.
func TestAChangeOfAnotherStaterootIsNotUndone(t *testing.T) {
	w := newWorld(false)
	w.enact(t, w.ask)
	store := record.Store{Files: w.node.Files()}
	c, err := store.Undoable("", w.stateroot(t))
	require.NoError(t, err)
	require.NotEmpty(t, c.Stateroot)
	committed, err := store.Committed(policy)
	require.NoError(t, err)
	for _, other := range []string{"former", ""} {
		c.Stateroot = other
		require.NoError(t, store.Add(c))
		for _, id := range []string{"", c.Operation} {
			_, err = store.Undoable(id, w.stateroot(t))
			require.ErrorIs(t, err, record.ErrElsewhere)
		}
		o := w.enact(t, netpolicy.Request{Action: netpolicy.ActionUndo, Policy: policy, Document: c.Revert, Undoes: c.Operation})
		require.Equal(t, netpolicy.ResultFailed, o.Result)
		now, err := store.Committed(policy)
		require.NoError(t, err)
		require.Equal(t, committed.Undone, now.Undone, "the record stays as it is")
	}
}

func TestAnUndoneChangeIsMarked(t *testing.T) {
	w := newWorld(false)
	first := w.enact(t, w.ask)
	store := record.Store{Files: w.node.Files()}
	c, err := store.Undoable("", w.stateroot(t))
	require.NoError(t, err)
	require.Equal(t, first.Operation, c.Operation)
	o := w.enact(t, netpolicy.Request{Action: netpolicy.ActionUndo, Policy: policy, Document: c.Revert, Undoes: c.Operation})
	require.Equal(t, netpolicy.ResultChanged, o.Result, "%+v", o.Evidence)
	at, err := w.address()
	require.NoError(t, err)
	require.Equal(t, before, at)
	committed, err := store.Committed(policy)
	require.NoError(t, err)
	require.Equal(t, o.Operation, committed.Undone)
	_, err = store.Undoable("", w.stateroot(t))
	require.ErrorIs(t, err, record.ErrNone, "nothing is left to undo")
}

func TestAnEphemeralDocumentEndsWithTheBoot(t *testing.T) {
	w := newWorld(false)
	w.ask.Persistence = netpolicy.Ephemeral
	require.Equal(t, netpolicy.ResultChanged, w.enact(t, w.ask).Result)
	at, err := w.address()
	require.NoError(t, err)
	require.Equal(t, after, at)
	require.NoError(t, w.node.Boot(t.Context()))
	at, err = w.address()
	require.NoError(t, err)
	require.Equal(t, before, at)
	c, err := record.Store{Files: w.node.Files()}.Committed(policy)
	require.NoError(t, err)
	require.False(t, c.InForce("another-boot"))
}

// TakeWayOut implements flowtest.Person: the policy is applied again.
func (w *world) TakeWayOut() error { return w.Live(nil) }

// TestAnEnactmentThatIsGivenUpHasAWayOut has each step fail until nobody tries any more.
func TestAnEnactmentThatIsGivenUpHasAWayOut(t *testing.T) {
	plan := netpolicy.Plan(newWorld(false).ports(), newWorld(false).ask)
	got := flowtest.GiveUp(t, []flow.Plan{plan}, func(*testing.T) flowtest.Person { return newWorld(false) })
	require.Equal(t, 2*len(plan.Steps), got.Cells)
}

func (w *world) intake() operation.Intake {
	return operation.Intake{Files: w.node.Files(), Boots: w.node.Power(), Log: slog.New(slog.DiscardHandler)}
}
