package ipconfig

import (
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

func TestPrePivotIsStartedAgainBySystemd(t *testing.T) {
	w, _ := configuring(t)
	require.Equal(t, []string{ipconfig.UnitPrePivot}, w.node.restarts, "with the cluster stopped there is no operator")
}

func TestAnUnreadableRequestIsNoDeadEnd(t *testing.T) {
	w, _ := configuring(t)
	w.node.files[ipconfig.RequestFile] = []byte("\x00\x00")
	w.node.ends(ipconfig.UnitPrePivot, false)
	ipc := w.rest()
	requireLast(t, ipc, "ConfigInProgress", no, "Failed", "ip-config pre-pivot failed. error: the request of the operation cannot be read")
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
	w.stage(lcav1.StageIdle)
	require.Equal(t, 1, w.node.launched(ipconfig.UnitCleanup))
	w.cleanedUp()
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
	w.change(toNewAddress)
	require.Equal(t, 2, w.node.launched(ipconfig.UnitPrePivot))
}

func TestAChangeIsFollowedWithoutItsRequest(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	delete(w.node.files, ipconfig.RequestFile)
	w.node.ends(ipconfig.UnitIPConfiguration, false)
	ipc := w.rest()
	requireLast(t, ipc, "ConfigInProgress", no, "Failed", "ip-config post-pivot failed. error: ip-configuration.service ended with exit-code")
	require.Equal(t, stages{"Rollback"}, ipc.Status.ValidNextStages)
	w.stage(lcav1.StageRollback)
	require.Equal(t, 1, w.node.launched(ipconfig.UnitRollback))
}

// TestTheWatchdogFiresWhileItIsDisarmed has the deadline pass between the last reading of the journal and
// the end of the watchdog: the change must not be called complete.
func TestTheWatchdogFiresWhileItIsDisarmed(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	w.rest()
	w.node.stopping = func(unit string) {
		if unit == ipconfig.UnitInitMonitor {
			w.node.stopping = nil
			w.journal(ipconfig.FlowRollback, flow.Entry{Kind: flow.KindNote, Message: "Rollback due to LCA Init Monitor timeout, after 30m0s"},
				flow.Entry{Kind: flow.KindBegin, Total: 5})
		}
	}
	w.postPivotDone()
	ipc := w.rest()
	requireLast(t, ipc, "ConfigInProgress", yes, "InProgress", "Rolling back to the previous stateroot: Rollback due to LCA Init Monitor timeout")
	require.Nil(t, condition(ipc, "ConfigCompleted"))
	require.Equal(t, 1, w.node.launched(ipconfig.UnitRollback), "its process was killed, so the operator restarts it")
}

func TestFailuresInProgressAreReported(t *testing.T) {
	w, request := configuring(t)
	w.node.units[ipconfig.UnitPrePivot] = host.UnitState{Load: "loaded", Active: "activating", Sub: "auto-restart", Result: "exit-code", ExitCode: 1}
	requireLast(t, w.rest(), "ConfigInProgress", yes, "InProgress", "lca-ipconfig-pre-pivot.service ended with exit-code (exit code 1)")
	w.pivot(request)
	w.node.units[ipconfig.UnitIPConfiguration] = host.UnitState{Load: "loaded", Active: "activating"}
	w.journal(ipconfig.FlowPostPivot, flow.Entry{Kind: flow.KindBegin, Total: 2},
		flow.Entry{Kind: flow.KindFailed, Step: ipconfig.StepRecert, Error: "no etcd"})
	requireLast(t, w.rest(), "ConfigInProgress", yes, "InProgress", "retrying or undoing after a failure: recert: no etcd")
	w.node.units[ipconfig.UnitIPConfiguration] = host.UnitState{Load: "loaded", Active: "inactive", Sub: "dead", Result: "success"}
	requireLast(t, w.rest(), "ConfigInProgress", yes, "InProgress", "run 'systemctl start ip-configuration.service' on the node to continue")
}

// TestADeadDNSServerBesideAnotherIsAWarning that stays in the message of the completed change.
func TestADeadDNSServerBesideAnotherIsAWarning(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	w.journal(ipconfig.FlowPostPivot, flow.Entry{Kind: flow.KindNote, Message: bringup.DNSWarning + "DNS server 198.51.100.54 does not answer"})
	w.postPivotDone()
	for range 2 {
		requireLast(t, w.rest(), "ConfigCompleted", yes, "Completed",
			"Configuration completed successfully; warning: not every DNS server serves the node: DNS server 198.51.100.54 does not answer")
	}
}

func TestRollbackIsNotOfferedWithoutOldStateroot(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	w.journal(ipconfig.FlowRollback, flow.Entry{Kind: flow.KindBegin, Total: 5}) // came to nothing
	w.postPivotDone()
	w.node.deployments = w.node.deployments[1:] // removed by hand
	ipc := w.rest()
	requireLast(t, ipc, "ConfigCompleted", yes, "Completed", "Configuration completed successfully")
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
}

// TestARollbackWithoutOldStaterootIsDeclined has the old stateroot vanish just before, and just after, the rollback is accepted.
func TestARollbackWithoutOldStaterootIsDeclined(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	w.rest()
	w.node.deployments = w.node.deployments[1:]
	ipc := w.stage(lcav1.StageRollback)
	requireLast(t, ipc, "RollbackInProgress", no, "InvalidTransition", "invalid IPConfig stage: Rollback; what was accepted before continues, and status.validNextStages is: Idle")
	require.Contains(t, condition(ipc, "ConfigInProgress").Message, "rollback is not possible, because stateroot rhcos no longer exists")
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
	require.Zero(t, w.node.launched(ipconfig.UnitRollback))
	w.postPivotDone()
	require.Equal(t, yes, condition(w.rest(), "ConfigCompleted").Status, "the accepted stage continues")
	w.stage(lcav1.StageIdle)
	require.Equal(t, 1, w.node.launched(ipconfig.UnitCleanup))
	w.cleanedUp()
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
}

func TestARollbackThatLosesTheOldStaterootCanBeGivenUp(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	w.rest()
	w.stage(lcav1.StageRollback)
	w.node.deployments = w.node.deployments[1:]
	ipc := w.rest()
	requireLast(t, ipc, "RollbackInProgress", no, "Failed", "unbooted stateroot is not available; rollback is not possible, because stateroot rhcos no longer exists")
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
	w.stage(lcav1.StageIdle)
	require.Equal(t, 1, w.node.launched(ipconfig.UnitCleanup))
	w.cleanedUp()
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
}
