package relocation_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	domain "github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// reserved is a node's lock that an unfinished preparation holds, too.
type reserved struct {
	host.NodeLock
	flows []host.Reservation
}

func (l reserved) Acquire(ctx context.Context, h host.Holder) (func(), error) {
	release, err := l.NodeLock.Acquire(ctx, h)
	if err != nil {
		return nil, err
	}
	other, found, err := host.Unfinished(ctx, l.flows, h.Flow())
	if err == nil && found {
		err = &host.BusyError{Holder: other}
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// addressed is a cluster whose node has reported its address.
type addressed struct{ api }

func (a addressed) Facts(ctx context.Context) (domain.Facts, error) {
	f, err := a.api.Facts(ctx)
	f.Addresses = []netip.Addr{netip.MustParseAddr("192.0.2.10")}
	f.MachineNetworks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	return f, err
}

// underway is a preparation whose unit waits to go on: it was killed in that step.
type underway struct {
	t     *testing.T
	node  *hosttest.Node
	ports factory.Ports
	// units replace the node's in the verbs.
	units host.Units
}

func newUnderway(t *testing.T, step string) underway {
	t.Helper()
	n := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"})
	u := underway{t: t, node: n, units: n.Units(),
		ports: factory.Ports{Node: n.Ports(), Cluster: addressed{}, Clock: sleepless{}, Log: slog.New(slog.DiscardHandler)}}
	n.Command("lca-cli relocation prepare", func(ctx context.Context, _ []string) error {
		kind := factory.Kind(u.ports)
		kind.Wrap = func(p flow.Plan) flow.Plan {
			for i := range p.Steps {
				if p.Steps[i].Name == step {
					p.Steps[i].Do = func(context.Context) error { panic(hosttest.Killed) }
				}
			}
			return p
		}
		return kind.Run(ctx, u.ports.Machine(), operation.Instruments{})
	})
	_, err := factory.Prepare(t.Context(), u.ports, "20260102-030405-0001", factory.Wanted{})
	require.NoError(t, err)
	require.NoError(t, n.Run(t.Context(), func(ctx context.Context) error {
		return n.Transients().Launch(ctx, host.Transient{Unit: domain.UnitPrepare, Restart: true,
			Argv: []string{host.CLI, "relocation", "prepare", "--run"}})
	}))
	unit, queued := n.Queued()
	require.True(t, queued)
	require.NoError(t, n.Run(t.Context(), func(ctx context.Context) error { n.RunQueued(ctx, unit); return nil }))
	state, err := n.Units().State(t.Context(), domain.UnitPrepare)
	require.NoError(t, err)
	require.True(t, state.Running(), "%+v", state)
	return u
}

// abort is 'lca-cli relocation abort', and its unit's part.
func (u underway) abort(args ...string) (string, error) {
	u.t.Helper()
	var out bytes.Buffer
	w := wiring(u.node, api{}, &out)
	w.Lock = reserved{u.node.Lock(), []host.Reservation{factory.Kind(u.ports).Reservation(u.ports.Node)}}
	w.Clock = unitsRun{u.node}
	w.Factory = func(context.Context, bool) (factory.Ports, operation.Instruments, error) {
		ports := u.ports
		ports.Units = u.units
		return ports, operation.Instruments{}, nil
	}
	execute := func(ctx context.Context, args []string) error {
		root := group(w)
		root.SetArgs(args)
		return root.ExecuteContext(ctx)
	}
	u.node.Command("lca-cli relocation cancel", func(ctx context.Context, argv []string) error { return execute(ctx, argv[2:]) })
	err := u.node.Run(u.t.Context(), func(ctx context.Context) error { return execute(ctx, append([]string{"abort"}, args...)) })
	return out.String(), err
}

// unitsRun is a clock in whose waits the node's units run.
type unitsRun struct{ node *hosttest.Node }

func (unitsRun) Now() time.Time { return time.Unix(1e9, 0) }

func (c unitsRun) Sleep(ctx context.Context, _ time.Duration) error { return c.node.Settle(ctx, 1) }

// TestAPreparationThatIsUnderWayIsGivenUp in each of its steps: the factory's cluster runs, and the node can be prepared.
func TestAPreparationThatIsUnderWayIsGivenUp(t *testing.T) {
	for _, s := range factory.Plan(factory.Ports{}, domain.Record{}).Steps {
		t.Run(s.Name, func(t *testing.T) {
			u := newUnderway(t, s.Name)
			out, err := u.abort()
			require.NoError(t, err, "%v", u.node.Failures())
			require.Contains(t, out, "the factory's cluster runs")
			d := u.node.Describe()
			require.Equal(t, "rhcos", d.Default)
			require.Len(t, d.Stateroots, 1)
			require.NoError(t, u.node.ClusterUp())
			state, err := u.node.Units().State(t.Context(), domain.UnitPrepare)
			require.NoError(t, err)
			require.False(t, state.Running())
			_, err = u.abort()
			requireFinal(t, err, "not prepared for relocation")
			_, err = factory.Prepare(t.Context(), u.ports, "20260102-030405-0002", factory.Wanted{})
			require.NoError(t, err)
			require.NoError(t, factory.Run(t.Context(), u.ports, operation.Instruments{}))
		})
	}
}

// undoing are a node's units, of which that of the preparation undoes it when it is stopped.
type undoing struct {
	host.Units
	undo func(context.Context) error
}

func (u undoing) Stop(ctx context.Context, unit string) error {
	if err := u.Units.Stop(ctx, unit); err != nil || unit != domain.UnitPrepare {
		return err
	}
	return u.undo(ctx)
}

// TestAPreparationThatItsUnitHasUndoneIsGivenUp: the signal that stops the unit has it undo the preparation by itself.
func TestAPreparationThatItsUnitHasUndoneIsGivenUp(t *testing.T) {
	u := newUnderway(t, stateroot.StepQuiesce)
	u.units = undoing{u.node.Units(), func(ctx context.Context) error {
		return factory.AbortPreparation(ctx, u.ports, operation.Instruments{})
	}}
	out, err := u.abort()
	require.NoError(t, err, "%v", u.node.Failures())
	require.Contains(t, out, "the factory's cluster runs")
	require.NoError(t, u.node.ClusterUp())
}
