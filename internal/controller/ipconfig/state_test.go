package ipconfig

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

func cond(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason}
}

func TestStageOfConditions(t *testing.T) {
	started := cond("Idle", no, "ConfigurationInProgress")
	tests := []struct {
		name  string
		conds []metav1.Condition
		want  lcav1.IPConfigStage
	}{
		{"nothing yet", nil, ""},
		{"idle", []metav1.Condition{cond("Idle", yes, "Idle")}, lcav1.StageIdle},
		{"becoming idle after a change", []metav1.Condition{cond("ConfigCompleted", yes, "Completed"), cond("Idle", no, "InProgress")}, lcav1.StageIdle},
		{"cleanup failed", []metav1.Condition{cond("Idle", no, "Failed")}, lcav1.StageIdle},
		{"blocked before it was ever idle", []metav1.Condition{cond("Idle", no, "Blocked")}, lcav1.StageIdle},
		{"configuring", []metav1.Condition{started, cond("ConfigInProgress", yes, "InProgress")}, lcav1.StageConfig},
		{"rolling back", []metav1.Condition{started, cond("ConfigCompleted", yes, "Completed"), cond("RollbackInProgress", yes, "InProgress")}, lcav1.StageRollback},
		{"rolled back", []metav1.Condition{started, cond("RollbackCompleted", yes, "Completed")}, lcav1.StageRollback},
		{"rollback refused", []metav1.Condition{started, cond("ConfigInProgress", yes, "InProgress"), cond("RollbackInProgress", no, "InvalidTransition")}, lcav1.StageConfig},
		{"idle refused", []metav1.Condition{cond("ConfigInProgress", yes, "InProgress"), cond("Idle", no, "InvalidTransition")}, lcav1.StageConfig},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, stageOf(tt.conds)) })
	}
}

// on is an observation of a node that runs the stateroot, with an operation from "rhcos" to "new".
func on(stateroot string, change ...func(*observation)) observation {
	o := observation{
		now: time.Unix(1000, 0), bootID: "boot-2", booted: host.Deployment{Stateroot: stateroot, Booted: true},
		deployments: []host.Deployment{{Stateroot: "rhcos"}, {Stateroot: "new"}}, units: map[string]host.UnitState{},
		request: &ipconfig.Request{OperationID: "op", OldStateroot: "rhcos", NewStateroot: "new"},
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

func unit(name, active string) func(*observation) {
	return func(o *observation) { o.units[name] = host.UnitState{Load: "loaded", Active: active} }
}

func wrote(name, boot string, kinds ...flow.Kind) func(*observation) {
	return func(o *observation) {
		for _, k := range kinds {
			o.entries = append(o.entries, flow.Entry{Flow: name, Kind: k, Boot: boot, Step: "s", Error: "broke"})
		}
		o.progress = ipconfig.Project(flow.Fold("op", o.entries))
	}
}

func TestStateOfEverySituation(t *testing.T) {
	completed := []metav1.Condition{cond("ConfigCompleted", yes, "Completed")}
	refusedOnce := []metav1.Condition{cond("ConfigCompleted", no, "Failed")}
	rolledBack := []metav1.Condition{cond("RollbackCompleted", yes, "Completed")}
	left := wrote(ipconfig.FlowPrePivot, "boot-1", flow.KindBegin, flow.KindCommitted)
	const config, rollback = lcav1.StageConfig, lcav1.StageRollback
	tests := []struct {
		name  string
		stage lcav1.IPConfigStage
		conds []metav1.Condition
		o     observation
		want  ipconfig.State
	}{
		{"no object yet", "", nil, observation{}, ipconfig.StateNew},
		{"idle", lcav1.StageIdle, []metav1.Condition{cond("Idle", yes, "Idle")}, observation{}, ipconfig.StateIdle},
		{"says idle with an operation about", lcav1.StageIdle, []metav1.Condition{cond("Idle", yes, "Idle")}, on("rhcos"), ipconfig.StateBecomingIdle},
		{"accepted", config, nil, observation{}, ipconfig.StatePreparing},
		{"refused", config, refusedOnce, observation{}, ipconfig.StateConfigFailed},
		{"no-op", config, completed, observation{}, ipconfig.StateConfiguredNoRollback},
		{"handed over", config, nil, on("rhcos"), ipconfig.StatePreparing},
		{"preparing", config, nil, on("rhcos", wrote(ipconfig.FlowPrePivot, "boot-2", flow.KindBegin), unit(ipconfig.UnitPrePivot, "active")), ipconfig.StatePreparing},
		{"about to reboot", config, nil, on("rhcos", wrote(ipconfig.FlowPrePivot, "boot-2", flow.KindBegin, flow.KindCommitted)), ipconfig.StatePreparing},
		{"undoing", config, nil, on("rhcos", wrote(ipconfig.FlowPrePivot, "boot-2", flow.KindBegin, flow.KindRolledBack), unit(ipconfig.UnitPrePivot, "active")), ipconfig.StatePreparing},
		{"undone", config, nil, on("rhcos", wrote(ipconfig.FlowPrePivot, "boot-2", flow.KindBegin, flow.KindRolledBack), unit(ipconfig.UnitPrePivot, "failed")), ipconfig.StateConfigFailed},
		{"lca-cli is missing", config, nil, on("rhcos", unit(ipconfig.UnitPrePivot, "failed")), ipconfig.StateConfigFailed},
		{"power cut before the commit point", config, nil, on("rhcos", wrote(ipconfig.FlowPrePivot, "boot-1", flow.KindBegin)), ipconfig.StatePreparing},
		{"back without a cause", config, nil, on("rhcos", left), ipconfig.StateConfigFailed},
		{"strange stateroot", config, nil, on("third", left), ipconfig.StateConfigFailed},
		{"new stateroot", config, nil, on("new"), ipconfig.StateFinishing},
		{"post-pivot failed and is tried again", config, nil, on("new", wrote(ipconfig.FlowPostPivot, "boot-2", flow.KindBegin, flow.KindFailed), unit(ipconfig.UnitIPConfiguration, "activating")), ipconfig.StateFinishing},
		{"post-pivot given up", config, nil, on("new", wrote(ipconfig.FlowPostPivot, "boot-2", flow.KindBegin, flow.KindFailed), unit(ipconfig.UnitIPConfiguration, "failed")), ipconfig.StateFinishFailed},
		{"given up, then mended by hand", config, refusedOnce, on("new", wrote(ipconfig.FlowPostPivot, "boot-2", flow.KindBegin, flow.KindFailed, flow.KindFinished)), ipconfig.StateFinishing},
		{"completed", config, completed, on("new"), ipconfig.StateConfigured},
		{"completed, old stateroot gone", config, completed, on("new", func(o *observation) { o.deployments = o.deployments[1:] }), ipconfig.StateConfiguredNoRollback},
		{"rolling back", rollback, nil, on("new"), ipconfig.StateRollingBack},
		{"rollback failed", rollback, nil, on("new", unit(ipconfig.UnitRollback, "failed")), ipconfig.StateRollbackFailed},
		{"nothing to go back to", rollback, nil, on("new", func(o *observation) { o.deployments = o.deployments[1:] }), ipconfig.StateRollbackFailedNoRollback},
		{"new stateroot, old stateroot gone", config, nil, on("new", func(o *observation) { o.deployments = o.deployments[1:] }), ipconfig.StateFinishingNoRollback},
		{"post-pivot given up, old stateroot gone", config, nil, on("new", unit(ipconfig.UnitIPConfiguration, "failed"), func(o *observation) { o.deployments = o.deployments[1:] }), ipconfig.StateFinishFailedNoRollback},
		{"back", rollback, nil, on("rhcos", left, wrote(ipconfig.FlowRollback, "boot-1", flow.KindBegin)), ipconfig.StateReturned},
		{"back and healthy", rollback, rolledBack, on("rhcos", left), ipconfig.StateRolledBack},
	}
	known := map[ipconfig.State]bool{}
	for _, row := range ipconfig.Stages() {
		known[row.State] = true
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, stateOf(tt.stage, tt.conds, tt.o))
			require.True(t, known[tt.want])
		})
	}
}

// TestEveryOutcomeReadsBackAsItsStage walks all states: what status says of a state must lead to
// the stage it belongs to, or the controller would mistake its own conditions for a new request.
func TestEveryOutcomeReadsBackAsItsStage(t *testing.T) {
	stage := map[ipconfig.State]lcav1.IPConfigStage{
		ipconfig.StateNew: lcav1.StageIdle, ipconfig.StateBecomingIdle: lcav1.StageIdle, ipconfig.StateIdle: lcav1.StageIdle, ipconfig.StateBlocked: lcav1.StageIdle,
		ipconfig.StatePreparing: lcav1.StageConfig, ipconfig.StateFinishing: lcav1.StageConfig, ipconfig.StateConfigured: lcav1.StageConfig,
		ipconfig.StateConfigFailed: lcav1.StageConfig, ipconfig.StateFinishFailed: lcav1.StageConfig,
		ipconfig.StateReturned: lcav1.StageRollback, ipconfig.StateRollingBack: lcav1.StageRollback, ipconfig.StateRolledBack: lcav1.StageRollback, ipconfig.StateRollbackFailed: lcav1.StageRollback,
	}
	for _, from := range ipconfig.Stages() {
		for _, to := range from.Leads {
			ipc := &lcav1.IPConfig{Spec: lcav1.IPConfigSpec{Stage: stage[to.WithRollback()]}}
			for _, s := range []ipconfig.State{ipconfig.StateBecomingIdle, ipconfig.StateIdle, from.State, to} {
				ipc.Status = projectStatus(ipc, observation{now: time.Unix(1, 0)}, outcome{state: s, message: string(s)})
			}
			require.Equal(t, stage[to.WithRollback()], stageOf(ipc.Status.Conditions), "%s -> %s: %v", from.State, to, ipc.Status.Conditions)
			once := ipc.Status
			again := projectStatus(ipc, observation{now: time.Unix(99, 0)}, outcome{state: to, message: string(to)})
			require.Equal(t, once, again, "%s: the same outcome writes nothing new", to)
		}
	}
}

func TestATimelineIsReadOnce(t *testing.T) {
	at := func(s int64) flow.StepRecord { return flow.StepRecord{Step: "s", Ended: time.Unix(s, 0)} }
	p := ipconfig.Progress{Progress: flow.Progress{Operation: "op", Timeline: []flow.StepRecord{at(1), at(2)}}}
	var n cursor
	require.Len(t, n.newlyEnded(lcav1.IPConfigStatus{}, p), 2)
	require.Empty(t, n.newlyEnded(lcav1.IPConfigStatus{}, p))
	p.Timeline = append(p.Timeline, at(3))
	require.Len(t, n.newlyEnded(lcav1.IPConfigStatus{}, p), 1)

	restarted, since := cursor{}, metav1.NewTime(time.Unix(2, 0))
	require.Len(t, restarted.newlyEnded(lcav1.IPConfigStatus{Step: &lcav1.StepStatus{StartTime: &since}}, p), 2, "what ended since status was written")
	completed := metav1.NewTime(time.Unix(9, 0))
	restarted = cursor{}
	require.Empty(t, restarted.newlyEnded(lcav1.IPConfigStatus{Conditions: []metav1.Condition{{LastTransitionTime: completed}}}, p))
}

func TestAStepIsShownWhileItsFlowIsWhatGoesOn(t *testing.T) {
	for _, c := range []struct {
		latest string
		state  ipconfig.State
		shown  bool
	}{
		{ipconfig.FlowPrePivot, ipconfig.StatePreparing, true},
		{ipconfig.FlowPrePivot, ipconfig.StateConfigFailed, true},
		{ipconfig.FlowPostPivot, ipconfig.StateConfigured, false},
		{ipconfig.FlowPostPivot, ipconfig.StateRollingBack, false},
		{ipconfig.FlowRollback, ipconfig.StateRollingBack, true},
		{ipconfig.FlowRollback, ipconfig.StateRolledBack, false},
		{ipconfig.FlowRollback, ipconfig.StateBecomingIdle, false},
		{ipconfig.FlowCleanup, ipconfig.StateBecomingIdle, true},
	} {
		p := ipconfig.Project(flow.Fold("op", []flow.Entry{{Flow: c.latest, Kind: flow.KindIntent, Step: "s", Title: "Do it", Index: 2, Total: 3}}))
		require.Equal(t, c.shown, stepOf(p, c.state) != nil, "%s in %s", c.latest, c.state)
	}
}

// TestEveryStateIsSummedUp for programs that know no kind: what is under way, what needs a person, and what is done.
func TestEveryStateIsSummedUp(t *testing.T) {
	stalled := []ipconfig.State{ipconfig.StateConfigFailed, ipconfig.StateFinishFailed, ipconfig.StateFinishFailedNoRollback,
		ipconfig.StateRollbackFailed, ipconfig.StateRollbackFailedNoRollback}
	settled := []ipconfig.State{ipconfig.StateIdle, ipconfig.StateConfigured, ipconfig.StateConfiguredNoRollback, ipconfig.StateRolledBack}
	for _, row := range ipconfig.Stages() {
		ipc := &lcav1.IPConfig{}
		ipc.Spec.Stage = lcav1.StageConfig
		before := []metav1.Condition{cond(lcav1.ConditionStalled, yes, "Earlier"), cond(lcav1.ConditionReconciling, yes, "Earlier")}
		got := conditionsFor(before, ipc, on("rhcos"), outcome{state: row.State, message: "why"})
		var summary []string
		for _, c := range got {
			if c.Type == lcav1.ConditionReconciling || c.Type == lcav1.ConditionStalled {
				require.Equal(t, yes, c.Status)
				summary = append(summary, c.Type)
			}
		}
		switch {
		case slices.Contains(stalled, row.State):
			require.Equal(t, []string{lcav1.ConditionStalled}, summary, row.State)
		case slices.Contains(settled, row.State):
			require.Empty(t, summary, row.State)
		default:
			require.Equal(t, []string{lcav1.ConditionReconciling}, summary, row.State)
		}
		require.NotContains(t, summary, got[len(got)-1].Type, "the end of the list shows the operation")
	}
	refused := conditionsFor(nil, &lcav1.IPConfig{}, on("rhcos"), outcome{state: ipconfig.StateIdle, invalid: lcav1.StageRollback})
	require.Equal(t, lcav1.ConditionStalled, refused[0].Type)
}

// TestWhatWasWaitedForIsSaidUntilTheStepIsDone: the record of a wait stays when the step is done.
func TestWhatWasWaitedForIsSaidUntilTheStepIsDone(t *testing.T) {
	o := on("rhcos", func(o *observation) {
		o.waiting = &ipconfig.Waiting{Step: ipconfig.StepWaitAPI, Missing: "etcd is unhealthy"}
	})
	const said = "; step wait-for-api waited for: etcd is unhealthy"
	require.Equal(t, said, o.waitedFor(), "the new system's journal is not known")
	o.progress.PostPivot = flow.FlowProgress{Begun: true, Step: ipconfig.StepWaitAPI}
	require.Equal(t, said, o.waitedFor())
	o.progress.PostPivot.Step = ipconfig.StepRunProbes
	require.Empty(t, o.waitedFor())
	require.Empty(t, on("rhcos").waitedFor())
}
