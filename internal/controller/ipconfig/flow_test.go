package ipconfig

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

type stages = []lcav1.IPConfigStage

const yes, no = metav1.ConditionTrue, metav1.ConditionFalse

func TestNewClusterBecomesIdleAndRests(t *testing.T) {
	w := newWorld(t)
	ipc := w.rest()

	require.Equal(t, lcav1.StageIdle, ipc.Spec.Stage)
	requireLast(t, ipc, "Idle", yes, "Idle", "Idle")
	require.Equal(t, stages{"Config"}, ipc.Status.ValidNextStages)
	require.Equal(t, &lcav1.IPStatus{Address: "192.0.2.10", MachineNetwork: "192.0.2.0/24", PrefixLength: 24, Gateway: "192.0.2.1"}, ipc.Status.IPv4)
	require.Nil(t, ipc.Status.IPv6)
	require.Equal(t, []string{"192.0.2.53"}, ipc.Status.DNSServers)
	require.Equal(t, lcav1.DNSFilterNone, ipc.Status.DNSFilterOutFamily)
	require.Empty(t, w.node.acts, "an idle node is not touched")

	before := w.writes
	for range 5 {
		require.Equal(t, 30*time.Second, w.reconcile())
	}
	require.Equal(t, before, w.writes, "at rest nothing is written")
}

func TestStatusFollowsTheNetworkWhileIdle(t *testing.T) {
	w := newWorld(t)
	w.rest()
	w.node.doc.DNS.Running.Server = []string{"192.0.2.54"}
	w.node.files[host.DnsmasqFilter] = []byte("# managed\nfilter-AAAA\n")
	ipc := w.rest()
	require.Equal(t, []string{"192.0.2.54"}, ipc.Status.DNSServers)
	require.Equal(t, lcav1.DNSFilterIPv6, ipc.Status.DNSFilterOutFamily)
}

func TestConfigFromRequestToConfirmation(t *testing.T) {
	w, request := configuring(t)
	ipc := w.get()
	requireLast(t, ipc, "ConfigInProgress", yes, "InProgress", "Configuration in progress")
	require.Equal(t, "ConfigurationInProgress", condition(ipc, "Idle").Reason)
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
	require.Equal(t, request.OperationID, ipc.Status.OperationID)
	require.Contains(t, w.node.acts[len(w.node.acts)-1], "lca-ipconfig-pre-pivot.service: /usr/local/bin/lca-cli ip-config pre-pivot")
	require.Equal(t, "198.51.100.10", request.IPv4Address)
	require.Equal(t, "192.0.2.1", request.CurrentIPv4Gateway)
	require.Equal(t, "rhcos", request.OldStateroot)
	require.NotEmpty(t, w.node.files[ipconfig.SavedObjectFile])
	require.Equal(t, request.NewStateroot, ipc.Status.Plan.Stateroot)
	require.Contains(t, ipc.Status.Plan.NMState, "ip: 198.51.100.10")

	w.journal(ipconfig.FlowPrePivot, flow.Entry{Kind: flow.KindBegin, Total: 3}, step(flow.KindIntent, ipconfig.StepClone, 1))
	require.Equal(t, ipconfig.StepClone, w.rest().Status.Step.Name)
	w.pivot(request)
	ipc = w.rest()
	require.Equal(t, stages{"Rollback"}, ipc.Status.ValidNextStages)
	requireLast(t, ipc, "ConfigInProgress", yes, "InProgress", "Configuration in progress")

	w.postPivotDone()
	w.operatorDegraded(true)
	requireLast(t, w.rest(), "ConfigInProgress", yes, "InProgress", "Waiting for system to stabilize: clusteroperator etcd: degraded")
	requireLast(t, w.get(), "ConfigInProgress", yes, "InProgress", "nothing rolls back by itself any more; repair what is missing, or set spec.stage to Rollback")
	require.Equal(t, stages{"Rollback"}, w.get().Status.ValidNextStages)
	require.True(t, slices.ContainsFunc(w.events, func(e string) bool {
		return strings.HasPrefix(e, "Warning AwaitingHealth: The change is proved and not complete: Waiting for system to stabilize: clusteroperator etcd: degraded")
	}), "%v", w.events)
	h, found, err := ipconfig.ReadHealth(w.node, request.OperationID)
	require.NoError(t, err)
	require.True(t, found)
	require.Contains(t, h.Missing, "clusteroperator etcd: degraded")

	w.operatorDegraded(false)
	ipc = w.rest()
	requireLast(t, ipc, "ConfigCompleted", yes, "Completed", "Configuration completed successfully")
	require.Equal(t, "Completed", condition(ipc, "ConfigInProgress").Reason)
	require.Equal(t, stages{"Idle", "Rollback"}, ipc.Status.ValidNextStages)
	h, _, err = ipconfig.ReadHealth(w.node, request.OperationID)
	require.NoError(t, err)
	require.True(t, h.Healthy)
	require.Contains(t, w.node.acts, "stop "+ipconfig.UnitInitMonitor, "one that was to roll back without health")
	require.Contains(t, w.node.acts, "disable "+ipconfig.UnitInitMonitor)
	requireHistory(t, ipc, "Config: pre-pivot post-pivot")
	require.Contains(t, w.events, "Normal ConfigCompletedCompleted: Configuration completed successfully")
	require.Contains(t, w.events, "Normal StepCompleted: post-pivot: recert (Do recert) took 1.5s")

	ipc = w.stage(lcav1.StageIdle)
	require.Equal(t, 1, w.node.launched(ipconfig.UnitCleanup))
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
	w.cleanedUp()
	ipc = w.rest()
	require.Len(t, ipc.Status.Conditions, 1)
	requireLast(t, ipc, "Idle", yes, "Idle", "Idle")
	require.Empty(t, ipc.Status.History)
	require.Nil(t, ipc.Status.RollbackAvailabilityExpiration)
	require.Equal(t, "198.51.100.10", ipc.Status.IPv4.Address)
	require.Equal(t, stages{"Config"}, ipc.Status.ValidNextStages)
}

// cleanedUp plays lca-cli ip-config cleanup.
func (w *world) cleanedUp() {
	w.t.Helper()
	require.NoError(w.t, w.node.Remove(host.Workspace))
	booted, err := host.Booted(w.node.deployments)
	require.NoError(w.t, err)
	w.node.deployments = []host.Deployment{booted}
	if _, found, err := operation.ReadStateroot(w.node, booted); found {
		require.NoError(w.t, err)
		require.NoError(w.t, operation.End(w.node, booted, operation.Stateroot{}, w.now))
	}
	w.node.ends(ipconfig.UnitCleanup, true)
}

func requireHistory(t *testing.T, ipc *lcav1.IPConfig, want ...string) {
	t.Helper()
	var got []string
	for _, h := range ipc.Status.History {
		line := string(h.Stage) + ":"
		require.NotNil(t, h.StartTime)
		require.NotNil(t, h.CompletionTime, "%s has ended", h.Stage)
		for i, p := range h.Phases {
			line += " " + p.Phase
			require.NotNil(t, p.CompletionTime, "%s has ended", p.Phase)
			require.False(t, p.CompletionTime.Before(p.StartTime), p.Phase)
			if i > 0 {
				require.False(t, p.StartTime.Before(h.Phases[i-1].CompletionTime), p.Phase)
			}
		}
		got = append(got, line)
	}
	require.Equal(t, want, got)
}

func TestStatusMustMatchSpecBeforeConfirmation(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	w.postPivotDone()
	w.node.doc.Routes.Running[1].NextHopAddress = "198.51.100.99"
	ipc := w.rest()
	requireLast(t, ipc, "ConfigInProgress", yes, "InProgress",
		"Waiting for current IPs to match spec: desired network not observed in status: ipv4.gateway (spec 198.51.100.1, node ")
	require.NotContains(t, w.node.acts, "stop "+ipconfig.UnitInitMonitor)
}

func TestNothingToDo(t *testing.T) {
	w := newWorld(t)
	w.rest()
	ipc := w.change(func(ipc *lcav1.IPConfig) {
		ipc.Spec.Stage = lcav1.StageConfig
		ipc.Spec.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.10", MachineNetwork: "192.0.2.0/24", Gateway: "192.0.2.1"}
	})
	requireLast(t, ipc, "ConfigCompleted", yes, "Completed", "Spec and status match; nothing to do")
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
	require.Empty(t, w.node.acts)
	requireHistory(t, ipc, "Config: pre-pivot")
	requireLast(t, w.stage(lcav1.StageIdle), "Idle", yes, "Idle", "Idle")
}

func TestRequestedRollback(t *testing.T) {
	w, request := configuring(t)
	left := w.get()
	w.pivot(request)
	w.postPivotDone()
	w.rest()
	ipc := w.stage(lcav1.StageRollback)
	requireLast(t, ipc, "RollbackInProgress", yes, "InProgress", "Rollback requested")
	require.Contains(t, w.node.acts[len(w.node.acts)-1], "lca-ipconfig-rollback.service: /usr/local/bin/lca-cli ip-config rollback --stateroot rhcos")
	require.Empty(t, ipc.Status.ValidNextStages)

	w.journalAt(operation.PivotedJournalPath(request.OperationID), ipconfig.FlowRollback,
		flow.Entry{Kind: flow.KindNote, Message: ipconfig.CauseRequested}, flow.Entry{Kind: flow.KindBegin, Total: 5},
		step(flow.KindIntent, ipconfig.StepReboot, 5))
	w.comeBack(request, left)
	w.operatorDegraded(true)
	ipc = w.rest()
	require.Equal(t, lcav1.StageRollback, ipc.Spec.Stage, "the request is restored")
	requireLast(t, ipc, "RollbackInProgress", yes, "InProgress", "Waiting for system to stabilize")
	w.operatorDegraded(false)
	ipc = w.rest()
	requireLast(t, ipc, "RollbackCompleted", yes, "Completed", "Rollback completed")
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
	requireHistory(t, ipc, "Config: pre-pivot post-pivot", "Rollback: RollbackPrePivot RollbackPostPivot")

	w.stage(lcav1.StageIdle)
	w.cleanedUp()
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
}

func TestUnrequestedRollbacks(t *testing.T) {
	cause := func(c string) []flow.Entry {
		return []flow.Entry{{Kind: flow.KindNote, Message: c}, {Kind: flow.KindBegin, Total: 5}}
	}
	tests := []struct {
		name    string
		entries []flow.Entry
		want    string
	}{
		{"power came back on the old stateroot", nil, "Uncontrolled rollback: the node runs its former stateroot, and no program of the product chose it"},
		{"power came back after a wait", nil, "; step wait-for-api waited for: etcd is unhealthy"},
		{"last resort", nil, "Rollback by lca-last-resort.service: lca-cli is damaged or did not run in stateroot rhcos_ipc-"},
		{"post-pivot failed", cause("automatic rollback: ip-config post-pivot failed: no DNS"), "automatic rollback: ip-config post-pivot failed: no DNS"},
		{"watchdog", cause("Rollback due to LCA Init Monitor timeout, after 30m0s"), "Rollback due to LCA Init Monitor timeout, after 30m0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, request := configuring(t)
			left := w.get()
			w.pivot(request)
			if tt.name == "last resort" {
				w.node.files[ipconfig.LastResortLog] = []byte("lca-check-cli.service: exit-code")
			}
			if tt.name == "power came back after a wait" {
				require.NoError(t, ipconfig.WriteWaiting(w.node, request.OldStateroot, ipconfig.Waiting{
					OperationID: request.OperationID, Step: ipconfig.StepWaitAPI, Missing: "etcd is unhealthy"}))
			}
			if tt.entries != nil {
				w.journalAt(operation.PivotedJournalPath(request.OperationID), ipconfig.FlowRollback, tt.entries...)
			}
			w.comeBack(request, left)
			ipc := w.rest()
			requireLast(t, ipc, "ConfigInProgress", no, "Failed", tt.want)
			require.Equal(t, no, condition(ipc, "ConfigCompleted").Status)
			require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
			require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot), "what failed is not begun again")
			require.NotEmpty(t, ipc.Status.Evidence)
			w.stage(lcav1.StageIdle)
			require.Equal(t, 1, w.node.launched(ipconfig.UnitCleanup))
		})
	}
}

// TestANewSystemThatDidNotProveItselfIsReported: it was to boot once, and something else than a rollback ended that boot.
func TestANewSystemThatDidNotProveItselfIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		there []flow.Entry
		want  string
	}{
		"its services ran": {[]flow.Entry{{Kind: flow.KindBegin, Total: 11}, step(flow.KindIntent, ipconfig.StepRecert, 3)},
			"automatic rollback: the new system did not prove itself before the node started again; step 3 of 3 (recert) was not done; its logs"},
		"it did not come up": {nil, "before the node started again; it did not come as far as its services: "},
		"another entry was chosen after the proof": {[]flow.Entry{{Kind: flow.KindBegin, Total: 11}, {Kind: flow.KindFinished}},
			"Uncontrolled rollback"},
	} {
		t.Run(name, func(t *testing.T) {
			w, request := configuring(t)
			left := w.get()
			w.journal(ipconfig.FlowPrePivot, flow.Entry{Kind: flow.KindNote, Message: ipconfig.NoteBootsOnce})
			w.pivot(request)
			there := host.InVar(request.NewStateroot, operation.JournalPath(request.OperationID))
			w.node.files[there] = nil
			w.journalAt(there, ipconfig.FlowPostPivot, c.there...)
			w.comeBack(request, left)
			ipc := w.rest()
			requireLast(t, ipc, "ConfigInProgress", no, "Failed", c.want)
			require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
			require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot), "it is not tried again")
			require.Contains(t, strings.Join(w.events, "\n"), c.want)
			if name == "its services ran" {
				require.Contains(t, ipc.Status.Evidence, operation.PivotedJournalPath(request.OperationID))
				require.Equal(t, map[string]float64{"unproved": 1}, w.series("rollbacks_total"))
			}
		})
	}
}

func TestPrePivotFailed(t *testing.T) {
	w, _ := configuring(t)
	w.journal(ipconfig.FlowPrePivot, flow.Entry{Kind: flow.KindBegin, Total: 3}, step(flow.KindIntent, ipconfig.StepClone, 1),
		flow.Entry{Kind: flow.KindFailed, Step: ipconfig.StepClone, Error: "disk full"}, flow.Entry{Kind: flow.KindRolledBack})
	w.node.ends(ipconfig.UnitPrePivot, false)
	ipc := w.rest()
	requireLast(t, ipc, "ConfigInProgress", no, "Failed", "ip-config pre-pivot failed. error: clone-stateroot: disk full")
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot))
}

func TestPostPivotGivenUp(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	w.journal(ipconfig.FlowPostPivot, flow.Entry{Kind: flow.KindBegin, Total: 2},
		flow.Entry{Kind: flow.KindFailed, Step: ipconfig.StepRecert, Error: "no etcd"})
	w.node.ends(ipconfig.UnitIPConfiguration, false)
	ipc := w.rest()
	requireLast(t, ipc, "ConfigInProgress", no, "Failed", "ip-config post-pivot failed. error: recert: no etcd")
	require.Equal(t, stages{"Rollback"}, ipc.Status.ValidNextStages)
	w.stage(lcav1.StageRollback)
	require.Equal(t, 1, w.node.launched(ipconfig.UnitRollback))
}

func TestRollbackIsRetried(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	w.postPivotDone()
	w.rest()
	w.stage(lcav1.StageRollback)
	w.node.ends(ipconfig.UnitRollback, false)
	ipc := w.rest()
	require.Equal(t, 2, w.node.launched(ipconfig.UnitRollback))
	requireLast(t, ipc, "RollbackInProgress", yes, "InProgress", "Rollback requested")
	require.Contains(t, w.events, "Warning RollbackCompletedFailed: ip-config rollback failed, retrying. error: "+
		"lca-ipconfig-rollback.service ended with exit-code (exit code 1); see 'journalctl -u lca-ipconfig-rollback.service' on the node; "+
		"attempt 1 failed, retrying now. Run 'lca-cli ip-config status' on the node for details; "+
		"set spec.stage to Idle to keep the new network instead")
	require.Contains(t, condition(ipc, "RollbackInProgress").Message, "Rollback requested; attempt 2 in progress")
	for range 2 {
		w.node.ends(ipconfig.UnitRollback, false)
		w.reconcile()
	}
	requireLast(t, w.get(), "RollbackInProgress", no, "Failed", "attempt 3 failed, next attempt at "+w.r.returning.Due().UTC().Format(time.RFC3339))
}

func TestAbortWhilePreparing(t *testing.T) {
	w, _ := configuring(t)
	ipc := w.stage(lcav1.StageIdle)
	require.Contains(t, w.node.acts, "stop "+ipconfig.UnitPrePivot)
	require.Equal(t, 1, w.node.launched(ipconfig.UnitCleanup))
	requireLast(t, ipc, "Idle", no, "InProgress", "In progress of becoming idle")
	w.cleanedUp()
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
}

func TestAbortThatCameTooLateGoesBack(t *testing.T) {
	w, request := configuring(t)
	w.change(func(ipc *lcav1.IPConfig) { ipc.Spec.Stage = lcav1.StageIdle })
	w.pivot(request)
	w.postPivotDone()
	ipc := w.rest()
	requireLast(t, ipc, "Idle", no, "InProgress", "Rolling back to the previous stateroot")
	require.Equal(t, 1, w.node.launched(ipconfig.UnitRollback))
}
