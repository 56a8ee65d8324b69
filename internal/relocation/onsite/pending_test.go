package onsite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation/operationtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
)

// during runs what may be cut short by the bomb, and lets the node come to rest.
func (w *world) during(bomb *flowtest.Bomb, do func(context.Context) error) error {
	w.bomb = bomb
	operationtest.Arm(bomb, w.node, w.kill)
	w.stick = ""
	if err := w.node.Run(context.Background(), do); err != nil && !errors.Is(err, hosttest.PowerCut) {
		return err
	}
	return w.node.Settle(context.Background(), maxBoots)
}

func (w *world) cancel(ctx context.Context) error {
	_ = w.node.Transients().Forget(ctx, relocation.UnitCancel)
	return w.node.Transients().Launch(ctx, host.Transient{Unit: relocation.UnitCancel, Restart: true,
		Argv: []string{host.CLI, "relocation", "cancel"}})
}

func (w *world) back(ctx context.Context) error {
	return w.service().AskBack(ctx, onsite.CauseRequested)
}

// asked is a node at home that is asked for the factory state.
type asked struct{ *world }

func (w asked) Live(bomb *flowtest.Bomb) error {
	if err := w.world.Live(nil); err != nil {
		return err
	}
	return w.during(bomb, w.back)
}

// given is a node that came back to the factory state, on which somebody asks for the factory's cluster.
type given struct{ *world }

func (w given) Live(bomb *flowtest.Bomb) error {
	if err := errors.Join(w.prepare(), w.switchOn(), w.during(nil, w.back)); err != nil {
		return err
	}
	if _, err := w.node.Files().Stat(relocation.HoldFile); err != nil || w.node.Describe().Booted != factoryStateroot {
		return fmt.Errorf("the node is not held in the factory state: %w", err)
	}
	return w.during(bomb, w.cancel)
}

// Judge implements flowtest.World: the factory's cluster runs, and nothing of the relocation is left.
func (w given) Judge() (string, error) { return "cluster", w.ordinary() }

func (w *world) ordinary() error {
	d := w.node.Describe()
	if err := w.node.ClusterUp(); err != nil || d.Booted != factoryStateroot || d.Default != factoryStateroot {
		return fmt.Errorf("%s runs, %s is next: %w; failures: %v", d.Booted, d.Default, err, w.node.Failures())
	}
	for name := range d.Stateroots {
		if relocation.IsSite(name) {
			return fmt.Errorf("stateroot %s is left over", name)
		}
	}
	// The unit that waits has no effect without the record, and may be left over.
	enabled := d.Stateroots[factoryStateroot].Enabled
	if !slices.Contains(enabled, host.UnitKubelet) || slices.Contains(enabled, relocation.UnitPage) {
		return fmt.Errorf("enabled are %v", enabled)
	}
	for _, file := range []string{relocation.RecordFile, relocation.HoldFile, relocation.RequestFile,
		host.UnitDir + "/" + host.UnitKubelet + ".d/" + relocation.HoldDropIn} {
		if _, err := w.node.Files().Stat(file); err == nil {
			return fmt.Errorf("%s is left over", file)
		}
	}
	return nil
}

// Again implements flowtest.World: the node starts its cluster at the next boot, and can be shipped once more.
func (w given) Again() error {
	w.bomb = nil
	if err := w.switchOn(); err != nil {
		return err
	}
	if err := w.ordinary(); err != nil {
		return fmt.Errorf("after a boot: %w", err)
	}
	if err := w.prepare(); err != nil {
		return err
	}
	if d := w.node.Describe(); !relocation.IsSite(d.Default) {
		return fmt.Errorf("prepared once more, the node boots %s; failures: %v", d.Default, w.node.Failures())
	}
	return nil
}

// cancelling is the cancellation: its first step, which a node that has come back has nothing to do in, or the others.
func cancelling(from int) flow.Plan {
	p := factory.Cancellation{}.Plan(relocation.Record{Factory: "o"})
	if p.Steps = p.Steps[from:]; from == 0 {
		p.Steps = p.Steps[:1]
	}
	return p
}

// unshipped is a node that has not left the factory. Where the power goes before its boot menu has changed, it boots as it
// would on site, and can go back.
type unshipped struct{ *world }

func (w unshipped) Live(bomb *flowtest.Bomb) error {
	if err := w.prepare(); err != nil {
		return err
	}
	return w.during(bomb, w.cancel)
}

func (w unshipped) Judge() (string, error) {
	if d := w.node.Describe(); d.Booted == factoryStateroot && w.kill {
		return "shipped", w.ordinary()
	} else if d.Booted != factoryStateroot {
		if err := w.during(nil, w.back); err != nil {
			return "", err
		}
	}
	return "shipped", errors.Join(w.during(nil, w.cancel), w.ordinary())
}

func (w unshipped) Again() error { return given(w).Again() }

// What was asked for happens, wherever it is cut short.
func TestCrashMatrixOfPendingRequests(t *testing.T) {
	r := relocation.Request{OperationID: "x", Factory: "o", Site: "n"}
	for name, kill := range map[string]bool{"power-cut": false, "killed": true} {
		for verdict, m := range map[string]struct {
			plan  flow.Plan
			world func(*world) flowtest.World
		}{
			"factory": {(&onsite.Back{Request: r}).Plan(), func(w *world) flowtest.World { return asked{w} }},
			"cluster": {cancelling(1), func(w *world) flowtest.World { return given{w} }},
			"shipped": {cancelling(0), func(w *world) flowtest.World { return unshipped{w} }},
		} {
			t.Run(name+", "+verdict, func(t *testing.T) {
				t.Parallel()
				require.NoError(t, m.plan.Validate())
				got := flowtest.Matrix(t, []flow.Plan{m.plan}, func(t *testing.T) flowtest.World { return m.world(newWorld(t, kill)) })
				t.Logf("%s: %s", name, got)
				require.Equal(t, got.Cells, got.Verdicts[verdict])
			})
		}
	}
}

// The power goes after the request and before anything of the rollback.
func TestAPendingRequestSurvivesAPowerCut(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	w.stick = ""
	require.NoError(t, w.node.Run(t.Context(), w.back))
	require.NoError(t, w.switchOn())
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "factory", verdict)
}

func TestCancelStartsTheClusterOfANodeThatNeverLeft(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.prepare())
	require.NoError(t, w.during(nil, w.cancel))
	require.NoError(t, w.ordinary())
	require.NoError(t, w.switchOn())
	require.NoError(t, w.ordinary())
}

// Whatever pulls kubelet in, it stays down until the node has its identity.
func TestNothingStartsAClusterThatIsHeld(t *testing.T) {
	w := newWorld(t, false)
	puller := host.UnitDir + "/puller.service"
	require.NoError(t, w.node.Seed(puller, []byte("[Unit]\nRequires=kubelet.service\n[Service]\nExecStart=sleep 1\n[Install]\nWantedBy=multi-user.target\n")))
	require.NoError(t, w.node.Units().Enable(t.Context(), "puller.service"))
	require.NoError(t, w.prepare())
	require.NoError(t, w.switchOn())
	for _, unit := range []string{host.UnitKubelet, "puller.service"} {
		require.NoError(t, w.node.Units().Start(t.Context(), unit))
		s, err := w.node.Units().State(t.Context(), unit)
		require.NoError(t, err)
		require.False(t, s.Running(), unit)
	}
	require.Error(t, w.node.ClusterUp())
	w.stick = siteFor("198.51.100")
	require.NoError(t, w.switchOn())
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "home", verdict)
}

// A relocation's watchdog does not roll back itself: the rollback would stop the unit that it runs in.
func TestTheWatchdogHandsOver(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.prepare())
	require.NoError(t, w.switchOn())
	site := w.node.Describe().Booted
	require.NoError(t, operation.WriteJSON(w.node.Files(), relocation.RequestFile,
		relocation.Request{OperationID: w.id(), Factory: factoryStateroot, Site: site, Digest: "d"}))
	alive := 0
	require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error {
		return w.service().Watch(ctx, func() { alive++ })
	}))
	require.Positive(t, alive)
	s, err := w.node.Units().State(t.Context(), relocation.UnitRollback)
	require.NoError(t, err)
	require.True(t, s.Running(), "the rollback has a unit of its own")
	require.NoError(t, w.node.Settle(t.Context(), maxBoots))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "factory", verdict)
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(t, err)
	require.Contains(t, last.Cause, "not proved healthy within 1h0m0s")
}

// Where the record says so, the cluster that the node goes back to starts.
func TestARollbackMayStartTheOldCluster(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	record, err := relocation.ReadRecord(w.node.Files())
	require.NoError(t, err)
	record.Running = &relocation.Running{}
	require.NoError(t, operation.WriteJSON(w.node.Files(), relocation.RecordFile, record))
	require.NoError(t, w.during(nil, w.back))
	require.Equal(t, factoryStateroot, w.node.Describe().Booted)
	require.NoError(t, w.node.ClusterUp())
}

func TestAPreparationIsRefusedAwayFromTheFactory(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	before := w.node.Snapshot(true)
	for _, step := range []func(){
		func() {},
		// What an interrupted preparation of an older release has left in the copy.
		func() {
			record, err := relocation.ReadRecord(w.node.Files())
			require.NoError(t, err)
			require.NoError(t, operation.WriteJSON(w.node.Files(), host.StateDir+"/relocation-prepare.json", record))
			before = w.node.Snapshot(true)
		},
	} {
		step()
		_, err := factory.Prepare(t.Context(), w.factory(), w.id(), factory.Wanted{})
		require.ErrorIs(t, err, operation.ErrRefused)
		err = factory.Run(t.Context(), w.factory(), operation.Instruments{})
		require.ErrorIs(t, err, operation.ErrRefused)
		require.Empty(t, before.Diff(w.node.Snapshot(true)))
		require.NoError(t, w.node.ClusterUp())
	}
}

func TestACertificateThatEndsOnTheShelfAndIsNotRenewedIsRefusedByName(t *testing.T) {
	w := newWorld(t, false)
	w.certificates = []relocation.Certificate{
		{Subject: "CN=kubelet", Ends: w.clock.Time.Add(time.Hour), Renewed: true},
		{Subject: "CN=api.example.com", Ends: w.clock.Time.Add(20 * 24 * time.Hour), Places: []string{"openshift-config/api"}},
		{Subject: "CN=other", Ends: w.clock.Time.Add(40 * 24 * time.Hour)},
	}
	_, err := factory.Prepare(t.Context(), w.factory(), w.id(), factory.Wanted{ShelfDays: 30})
	require.ErrorIs(t, err, operation.ErrRefused)
	require.ErrorContains(t, err, "1 of the cluster's certificates end within 30 days")
	require.ErrorContains(t, err, "CN=api.example.com, until 2026-01-22, in openshift-config/api")
	_, err = factory.Prepare(t.Context(), w.factory(), w.id(), factory.Wanted{ShelfDays: 10})
	require.NoError(t, err)
}
