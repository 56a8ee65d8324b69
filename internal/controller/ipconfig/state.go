package ipconfig

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// stageOf is the stage that was last accepted, by the conditions; spec.stage differs while a request is new. It is empty
// for an object without status.
func stageOf(conds []metav1.Condition) lcav1.IPConfigStage {
	idle := meta.FindStatusCondition(conds, lcav1.ConditionIdle)
	if idle == nil {
		return ""
	}
	if idle.Status == metav1.ConditionTrue || idle.Reason != lcav1.ReasonConfigurationInProgress &&
		idle.Reason != lcav1.ReasonInvalidTransition {
		return lcav1.StageIdle
	}
	for _, kind := range []string{lcav1.ConditionRollbackInProgress, lcav1.ConditionRollbackCompleted} {
		if slices.ContainsFunc(conds, func(c metav1.Condition) bool { return c.Type == kind && !isDeclined(c) }) {
			return lcav1.StageRollback
		}
	}
	return lcav1.StageConfig
}

// isDeclined says that the condition is about a request that was not accepted.
func isDeclined(c metav1.Condition) bool {
	return c.Reason == lcav1.ReasonInvalidTransition || c.Reason == lcav1.ReasonBlocked
}

// stateOf derives where an accepted stage stands from conditions, journal and node. What may follow is in the stage table
// of internal/ipconfig.
func stateOf(stage lcav1.IPConfigStage, conds []metav1.Condition, o observation) ipconfig.State {
	state := stageState(stage, conds, o)
	if !o.canRollBack() {
		return state.WithoutRollback()
	}
	return state
}

func stageState(stage lcav1.IPConfigStage, conds []metav1.Condition, o observation) ipconfig.State {
	switch stage {
	case lcav1.StageIdle:
		if meta.IsStatusConditionTrue(conds, lcav1.ConditionIdle) && o.request == nil {
			return ipconfig.StateIdle
		}
		return ipconfig.StateBecomingIdle
	case lcav1.StageConfig:
		return configState(meta.FindStatusCondition(conds, lcav1.ConditionConfigCompleted), o)
	case lcav1.StageRollback:
		return rollbackState(meta.FindStatusCondition(conds, lcav1.ConditionRollbackCompleted), o)
	default:
		return ipconfig.StateNew
	}
}

func configState(completed *metav1.Condition, o observation) ipconfig.State {
	switch {
	case completed != nil && completed.Status == metav1.ConditionTrue, o.isProved() && !o.progress.Rollback.Begun:
		return ipconfig.StateConfigured
	case o.inNew() && o.finishFailed():
		return ipconfig.StateFinishFailed
	case o.inNew():
		return ipconfig.StateFinishing
	case completed != nil:
		return ipconfig.StateConfigFailed
	case o.request == nil:
		return ipconfig.StatePreparing
	case !o.inOld() || o.hasReturned() || o.prepareFailed():
		return ipconfig.StateConfigFailed
	}
	return ipconfig.StatePreparing
}

func rollbackState(completed *metav1.Condition, o observation) ipconfig.State {
	switch {
	case completed != nil && completed.Status == metav1.ConditionTrue:
		return ipconfig.StateRolledBack
	case !o.inNew() && o.hasReturned():
		return ipconfig.StateReturned
	case !o.canRollBack():
		return ipconfig.StateRollbackFailed
	case o.units[ipconfig.UnitRollback].Active == "failed":
		return ipconfig.StateRollbackFailed
	}
	return ipconfig.StateRollingBack
}

// prepareFailed says that pre-pivot ended for good without leaving the old stateroot.
func (o observation) prepareFailed() bool {
	p, unit := o.progress.PrePivot, o.units[ipconfig.UnitPrePivot]
	if unit.Running() || p.Committed {
		return false
	}
	// A full disk can keep even the last entry out of the journal; the exit code then decides.
	return p.RolledBack || unit.Active == "failed" && (!p.Begun || unit.ExitCode == host.FinalExit)
}

// finishFailed says that post-pivot was given up and that no rollback has begun.
func (o observation) finishFailed() bool {
	p := o.progress.PostPivot
	return !p.Finished && !o.progress.Rollback.Begun &&
		o.units[ipconfig.UnitIPConfiguration].Active == "failed"
}
