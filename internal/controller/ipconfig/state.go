package ipconfig

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// stageOf is the stage that the conditions speak of: the one that was last accepted, which is not
// spec.stage while a request is new. Empty for an object nobody has worked on.
func stageOf(conds []metav1.Condition) lcav1.IPConfigStage {
	i := slices.IndexFunc(conds, func(c metav1.Condition) bool { return c.Type == lcav1.ConditionIdle })
	if i < 0 {
		return ""
	}
	if idle := conds[i]; idle.Status == metav1.ConditionTrue || idle.Reason != lcav1.ReasonConfigurationInProgress &&
		idle.Reason != lcav1.ReasonInvalidTransition {
		return lcav1.StageIdle
	}
	for _, kind := range []string{lcav1.ConditionRollbackInProgress, lcav1.ConditionRollbackCompleted} {
		if slices.ContainsFunc(conds, func(c metav1.Condition) bool { return c.Type == kind && !turnedDown(c) }) {
			return lcav1.StageRollback
		}
	}
	return lcav1.StageConfig
}

// turnedDown says that the condition tells of a request that was not accepted.
func turnedDown(c metav1.Condition) bool {
	return c.Reason == lcav1.ReasonInvalidTransition || c.Reason == lcav1.ReasonBlocked
}

// stateOf says where an accepted stage stands. It is a pure reading of conditions, journal and node:
// the table in internal/ipconfig/stages.go is the whole of what may follow.
func stateOf(stage lcav1.IPConfigStage, conds []metav1.Condition, o observation) ipconfig.State {
	state := stageState(stage, conds, o)
	if !o.canReturn() {
		return state.WithoutWayBack()
	}
	return state
}

func stageState(stage lcav1.IPConfigStage, conds []metav1.Condition, o observation) ipconfig.State {
	switch stage {
	case lcav1.StageIdle:
		if isTrue(conds, lcav1.ConditionIdle) && o.request == nil {
			return ipconfig.StateIdle
		}
		return ipconfig.StateBecomingIdle
	case lcav1.StageConfig:
		return configState(conds, o)
	case lcav1.StageRollback:
		return rollbackState(conds, o)
	default:
		return ipconfig.StateNew
	}
}

func configState(conds []metav1.Condition, o observation) ipconfig.State {
	success, known := ended(conds, lcav1.ConditionConfigCompleted)
	switch {
	case known && success:
		return ipconfig.StateConfigured
	case o.inNew() && o.finishFailed():
		return ipconfig.StateFinishFailed
	case o.inNew():
		return ipconfig.StateFinishing
	case known:
		return ipconfig.StateConfigFailed
	case o.request == nil:
		return ipconfig.StatePreparing
	case !o.inOld() || o.cameBack() || o.prepareFailed():
		return ipconfig.StateConfigFailed
	}
	return ipconfig.StatePreparing
}

func rollbackState(conds []metav1.Condition, o observation) ipconfig.State {
	success, known := ended(conds, lcav1.ConditionRollbackCompleted)
	switch {
	case known && success:
		return ipconfig.StateRolledBack
	case !o.inNew() && o.cameBack():
		return ipconfig.StateRollingBack
	case !o.canReturn():
		return ipconfig.StateRollbackFailed
	case o.units[host.UnitRollback].Active == "failed":
		return ipconfig.StateRollbackFailed
	}
	return ipconfig.StateRollingBack
}

// prepareFailed says that pre-pivot ended for good without leaving the old stateroot.
func (o observation) prepareFailed() bool {
	p, unit := o.progress.PrePivot, o.units[host.UnitPrePivot]
	if unit.Running() || p.Committed {
		return false
	}
	// A full disk can keep even the last word out of the journal; the exit code then tells.
	return p.TakenBack || unit.Active == "failed" && (!p.Begun || unit.ExitCode == host.FinalExit)
}

// finishFailed says that post-pivot was given up and that nothing takes the node back
// by itself, or has not yet.
func (o observation) finishFailed() bool {
	p := o.progress.PostPivot
	return !p.Finished && !o.progress.Rollback.Begun &&
		o.units[host.UnitIPConfiguration].Active == "failed"
}
