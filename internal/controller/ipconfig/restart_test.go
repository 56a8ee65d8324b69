package ipconfig

import (
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// killed gives the world a new operator and reconciles, as a restart of the pod does. Status must be the same as before:
// all that the former one knew is on the node and in the object.
func (w *world) killed(after string) *lcav1.IPConfig {
	w.t.Helper()
	w.reconcile()
	before := w.get()
	launches := len(w.node.acts)
	w.restart(shared.Server(w.t))
	w.reconcile()
	now := w.get()
	require.Equal(w.t, before.Status.Conditions, now.Status.Conditions, "killed after %s", after)
	require.Equal(w.t, before.Status.ValidNextStages, now.Status.ValidNextStages, "killed after %s", after)
	require.Equal(w.t, before.Status.Step, now.Status.Step, "killed after %s", after)
	require.Equal(w.t, before.Spec, now.Spec, "killed after %s", after)
	require.Len(w.t, w.node.acts, launches, "nothing is started anew because of the restart after %s: %v", after, w.node.acts)
	return now
}

// killedAtEachEntry journals the plan's steps one entry after the other, with a restart of the operator after each.
func (w *world) killedAtEachEntry(p flow.Plan) {
	w.t.Helper()
	w.journal(p.Name, flow.Entry{Kind: flow.KindBegin, Attempt: 1, Total: len(p.Steps)})
	for i, s := range p.Steps {
		for _, kind := range []flow.Kind{flow.KindIntent, flow.KindDone} {
			if s.Name == ipconfig.StepReboot && kind == flow.KindDone {
				return // the reboot ends it
			}
			w.journal(p.Name, flow.Entry{Kind: kind, Step: s.Name, Title: s.Title, Index: i + 1, Total: len(p.Steps), Attempt: 1, TookMS: 10})
			ipc := w.killed(p.Name + "/" + s.Name + " " + string(kind))
			require.Equal(w.t, s.Name, ipc.Status.Step.Name)
		}
		if s.Name == p.Commit {
			w.journal(p.Name, flow.Entry{Kind: flow.KindCommitted})
			w.killed("the commit point of " + p.Name)
		}
	}
}

// TestTheOperatorIsKilledInEveryPhase restarts it after every single entry that the journals of a change and its rollback
// get, and in each state between them.
func TestTheOperatorIsKilledInEveryPhase(t *testing.T) {
	w, request := configuring(t)
	left := w.get()
	w.killed("handing over")
	w.killedAtEachEntry((&change.PrePivot{}).Plan())

	w.arrive(request)
	w.newNetwork()
	w.node.units[ipconfig.UnitIPConfiguration] = host.UnitState{Load: "loaded", Active: "activating", Sub: "start"}
	w.killed("the reboot")
	w.killedAtEachEntry((&change.PostPivot{}).Plan())
	w.journal(ipconfig.FlowPostPivot, flow.Entry{Kind: flow.KindFinished})
	w.node.ends(ipconfig.UnitIPConfiguration, true)
	w.operatorDegraded(true)
	w.killed("post-pivot, while health is waited for")
	require.NotContains(t, w.node.acts, "stop "+ipconfig.UnitInitMonitor)
	w.operatorDegraded(false)
	w.rest()
	requireLast(t, w.killed("completion"), "ConfigCompleted", yes, "Completed", "")

	w.stage(lcav1.StageRollback)
	w.killed("asking for the rollback")
	w.journal(ipconfig.FlowRollback, flow.Entry{Kind: flow.KindNote, Message: ipconfig.CauseRequested})
	w.killedAtEachEntry((&change.Rollback{}).Plan())
	require.Equal(t, 1, w.node.launched(ipconfig.UnitRollback))

	data, err := w.node.Read(operation.JournalPath(request.OperationID))
	require.NoError(t, err)
	require.NoError(t, w.node.Write(operation.PivotedJournalPath(request.OperationID), data, 0o600))
	w.comeBack(request, left)
	w.restart(shared.Server(t))
	w.operatorDegraded(true)
	w.rest()
	w.killed("the rollback's reboot, while health is awaited")
	w.operatorDegraded(false)
	requireLast(t, w.rest(), "RollbackCompleted", yes, "Completed", "")
	w.killed("the rollback")
	w.stage(lcav1.StageIdle)
	w.killed("asking for Idle")
	w.cleanedUp()
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot))
	require.Equal(t, 1, w.node.launched(ipconfig.UnitCleanup))
}
