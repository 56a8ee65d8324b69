package ipconfig

import (
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// moment is one at which Rollback is offered though the change is not complete.
type moment struct {
	name string
	// reach leads there from the arrival in the new stateroot, heal makes everything well that the change still waited for.
	reach, heal func(*world)
	waits       string
}

// working is a post-pivot under way, as far as the named steps.
func working(w *world, done ...string) {
	w.node.units[ipconfig.UnitIPConfiguration] = host.UnitState{Load: "loaded", Active: "activating", Sub: "start"}
	w.journal(ipconfig.FlowPostPivot, flow.Entry{Kind: flow.KindBegin, Total: 10})
	for i, name := range done {
		w.journal(ipconfig.FlowPostPivot, step(flow.KindIntent, name, i+1))
		if i < len(done)-1 {
			w.journal(ipconfig.FlowPostPivot, step(flow.KindDone, name, i+1))
		}
	}
}

// through is a post-pivot that has ended well.
func through(w *world) {
	w.postPivotDone()
	w.node.ends(ipconfig.UnitIPConfiguration, true)
}

func moments() []moment {
	nothing := func(*world) {}
	return []moment{
		{"before post-pivot's first step", nothing, through, "Configuration in progress"},
		{"post-pivot runs", func(w *world) {
			w.newNetwork()
			working(w, ipconfig.StepCheckSeal, ipconfig.StepApplyNetwork, ipconfig.StepRecert, ipconfig.StepStartKubelet, ipconfig.StepWaitAPI)
		}, through, "Configuration in progress"},
		{"post-pivot failed and is about to be started again", func(w *world) {
			working(w, ipconfig.StepWaitNode)
			w.journal(ipconfig.FlowPostPivot, flow.Entry{Kind: flow.KindFailed, Step: ipconfig.StepWaitNode, Error: "not Ready"})
			w.node.units[ipconfig.UnitIPConfiguration] = host.UnitState{Load: "loaded", Active: "activating", Sub: "auto-restart"}
		}, through, "after a failure: wait-for-node: not Ready"},
		{"post-pivot is through, the cluster is not healthy", func(w *world) { through(w); w.operatorDegraded(true) },
			func(w *world) { w.operatorDegraded(false) }, "Waiting for system to stabilize"},
		{"post-pivot is through, status does not match", func(w *world) {
			through(w)
			w.node.doc.Routes.Running[1].NextHopAddress = "198.51.100.99"
		}, func(w *world) { w.node.doc.Routes.Running[1].NextHopAddress = "198.51.100.1" }, "Waiting for current IPs to match spec"},
	}
}

// TestARollbackBeforeCompletionIsPossibleAtEveryMoment asks for it at each moment it is offered. What the change waited for comes
// right away afterwards: it must not be confirmed any more, nor lose its watchdog.
func TestARollbackBeforeCompletionIsPossibleAtEveryMoment(t *testing.T) {
	for _, m := range moments() {
		t.Run(m.name, func(t *testing.T) {
			w, request := configuring(t)
			left := w.get()
			w.pivot(request)
			m.reach(w)
			ipc := w.rest()
			requireLast(t, ipc, "ConfigInProgress", yes, "InProgress", m.waits)
			require.Equal(t, stages{"Rollback"}, ipc.Status.ValidNextStages)

			ipc = w.stage(lcav1.StageRollback)
			require.Equal(t, 1, w.node.launched(ipconfig.UnitRollback))
			require.Contains(t, w.node.acts[len(w.node.acts)-1], "ip-config rollback --stateroot "+request.OldStateroot)
			requireLast(t, ipc, "RollbackInProgress", yes, "InProgress", "Rollback requested")
			require.Empty(t, ipc.Status.ValidNextStages)

			m.heal(w)
			w.restart(shared.Server(t))
			ipc = w.rest()
			requireLast(t, ipc, "RollbackInProgress", yes, "InProgress", "Rollback requested")
			require.Nil(t, condition(ipc, "ConfigCompleted"))
			require.NotContains(t, w.node.acts, "stop "+ipconfig.UnitInitMonitor, "the watchdog is the last resort")
			require.Equal(t, 1, w.node.launched(ipconfig.UnitRollback))

			w.handedBack(request)
			w.comeBack(request, left)
			w.backNoRollback(t)
		})
	}
}

// handedBack plays lca-cli ip-config rollback up to its reboot.
func (w *world) handedBack(request ipconfig.Request) {
	w.t.Helper()
	w.journal(ipconfig.FlowRollback, flow.Entry{Kind: flow.KindNote, Message: ipconfig.CauseRequested}, flow.Entry{Kind: flow.KindBegin, Total: 6})
	data, err := w.node.Read(operation.JournalPath(request.OperationID))
	require.NoError(w.t, err)
	require.NoError(w.t, w.node.Write(operation.PivotedJournalPath(request.OperationID), data, 0o600))
}

// backNoRollback follows the return to its end, and asks for the change once more.
func (w *world) backNoRollback(t *testing.T) {
	t.Helper()
	ipc := w.rest()
	requireLast(t, ipc, "RollbackCompleted", yes, "Completed", "Rollback completed")
	require.Equal(t, lcav1.StageRollback, ipc.Spec.Stage)
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot), "what was rolled back is not begun again")
	w.stage(lcav1.StageIdle)
	w.cleanedUp()
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
	w.node.ends(ipconfig.UnitPrePivot, true)
	w.change(toNewAddress)
	require.Equal(t, 2, w.node.launched(ipconfig.UnitPrePivot), "it can be changed again")
}
