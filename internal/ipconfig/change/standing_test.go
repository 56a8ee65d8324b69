package change_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

// stranger is a flow that would disturb an IP change.
var stranger = host.Holder{Operation: "recert apply", Program: "lca-cli recert apply"}

// blockedBy is the phase in which the operation keeps the stranger off; empty where it does not.
func (w *world) blockedBy(ctx context.Context) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	release, err := w.node.Lock().Acquire(ctx, stranger)
	if err == nil {
		release()
		return ""
	}
	var busy *host.BusyError
	require.ErrorAs(w.t, err, &busy)
	require.Contains(w.t, err.Error(), "another operation holds this node: ip-config 2026")
	require.NotEmpty(w.t, busy.Holder.Phase)
	require.False(w.t, busy.Holder.Since.IsZero())
	return busy.Holder.Phase
}

// stands makes operations of this world hold the lock of its node.
func (w *world) stands() *world {
	w.node.Reserve(change.Reservation(w.ports()))
	return w
}

// blockedIn collects the phases that a stranger is told inside of each step.
func (w *world) blockedIn() map[string]string {
	phases := map[string]string{}
	w.wrap = func(p flow.Plan) flow.Plan {
		for i := range p.Steps {
			do, key := p.Steps[i].Do, p.Name+" "+p.Steps[i].Name
			p.Steps[i].Do = func(ctx context.Context) error {
				phases[key] = w.blockedBy(ctx)
				return do(ctx)
			}
		}
		return p
	}
	return phases
}

// TestAnUnfinishedChangeHoldsTheNode asks, as another flow, at every step of a change that is kept.
func TestAnUnfinishedChangeHoldsTheNode(t *testing.T) {
	w := newWorld(t).stands()
	require.Empty(t, w.blockedBy(t.Context()), "nothing is prepared")
	phases := w.blockedIn()
	arrived := ""
	w.arrival = func(w *world) { arrived = w.blockedBy(t.Context()) }
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.Equal(t, "pre-pivot, step 1 of 14", phases["pre-pivot "+ipconfig.StepCollect])
	require.Equal(t, "pre-pivot, step 5 of 14", phases["pre-pivot "+ipconfig.StepCopyLive])
	require.Contains(t, phases["pre-pivot "+ipconfig.StepReboot], "the reboot into stateroot rhcos_ipc-")
	require.Equal(t, "post-pivot", arrived, "the time between the boot and the first step counts")
	require.Equal(t, "post-pivot, step 3 of 11", phases["post-pivot "+ipconfig.StepRecert])

	require.Equal(t, "the cluster is not proved healthy yet", w.blockedBy(t.Context()))
	w.node.Cut()
	require.NoError(t, w.node.Boot(t.Context()))
	require.Equal(t, "the cluster is not proved healthy yet", w.blockedBy(t.Context()), "a reboot proves nothing")
	w.confirm()
	require.Empty(t, w.blockedBy(t.Context()), "the change is complete")

	require.NoError(t, w.launch(t.Context(), ipconfig.UnitCleanup, "ip-config", "cleanup"))
	require.NoError(t, w.rest(t.Context()))
	require.Equal(t, "cleanup, step 2 of 3", phases["cleanup "+ipconfig.StepRemoveOthers])
	require.Empty(t, w.blockedBy(t.Context()))
}

// confirm is what the agent does when the cluster is healthy.
func (w *world) confirm() {
	w.t.Helper()
	r, err := ipconfig.ReadRequest(w.node.Files())
	require.NoError(w.t, err)
	require.NoError(w.t, ipconfig.WriteHealth(w.node.Files(), ipconfig.Health{OperationID: r.OperationID, Healthy: true}))
	require.NoError(w.t, w.node.Units().Stop(w.t.Context(), ipconfig.UnitInitMonitor))
	require.NoError(w.t, w.node.Units().Disable(w.t.Context(), ipconfig.UnitInitMonitor))
}

func TestARolledBackChangeLetsTheNodeGo(t *testing.T) {
	for name, begin := range map[string]func(*world){
		"by itself":  func(w *world) { w.recert = brokenRecert{} },
		"on request": func(w *world) { w.then = rollBackOnRequest },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			begin(w)
			phases := w.stands().blockedIn()
			require.NoError(t, w.Live(nil))
			w.requireVerdict("old")
			require.Equal(t, "rollback, step 4 of 6", phases["rollback "+ipconfig.StepFlipBack])
			require.Empty(t, w.blockedBy(t.Context()))
		})
	}
}

// TestTheOperationThatNobodyGoesOnWithHoldsNothing: a stale holder would never let go.
func TestTheOperationThatNobodyGoesOnWithHoldsNothing(t *testing.T) {
	ctx := t.Context()
	// interrupted is a node on which pre-pivot was killed while it copied.
	interrupted := func(t *testing.T) *world {
		w := newWorld(t).stands()
		w.wrap = failing(ipconfig.StepCopyLive, func(context.Context) error { w.node.KillHere(); return nil })
		require.NoError(t, w.node.Run(ctx, func(ctx context.Context) error { return w.request(ctx, newSite, oldSite) }))
		op, err := w.open(ctx)
		require.NoError(t, err)
		_ = w.node.Run(ctx, op.PrePivot)
		require.Equal(t, "pre-pivot, step 5 of 14", w.blockedBy(ctx))
		return w
	}
	t.Run("the request is gone", func(t *testing.T) {
		w := interrupted(t)
		require.NoError(t, w.node.Files().Remove(ipconfig.RequestFile))
		require.Empty(t, w.blockedBy(ctx))
	})
	t.Run("the new stateroot was removed by hand", func(t *testing.T) {
		w := interrupted(t)
		r, err := ipconfig.ReadRequest(w.node.Files())
		require.NoError(t, err)
		require.NoError(t, w.node.Deployments().Remove(ctx, r.NewStateroot))
		require.Empty(t, w.blockedBy(ctx))
	})
	t.Run("a third stateroot runs", func(t *testing.T) {
		w := interrupted(t)
		r, err := ipconfig.ReadRequest(w.node.Files())
		require.NoError(t, err)
		r.OldStateroot = "another"
		require.NoError(t, ipconfig.WriteRequest(w.node.Files(), r, w.post, ipconfig.AutoRollback{}))
		require.Empty(t, w.blockedBy(ctx))
	})
	t.Run("it was rolled back", func(t *testing.T) {
		w := interrupted(t)
		w.wrap = nil
		require.NoError(t, w.launch(ctx, ipconfig.UnitCleanup, "ip-config", "cleanup"))
		require.NoError(t, w.rest(ctx))
		w.requireVerdict("old")
		require.Empty(t, w.blockedBy(ctx))
	})
}
