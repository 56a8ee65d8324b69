package ipconfig

import lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"

// State is where the one IPConfig of a cluster stands. Together with the stage
// table below it is the whole state machine.
type State string

// The states, named for what a person would say of the node. Those "for good" have lost their way back: the old
// stateroot is gone.
const (
	StateNew               State = "New"          // no Idle condition yet
	StateBecomingIdle      State = "BecomingIdle" // cleaning up, or waiting for health
	StateIdle              State = "Idle"         // spec may change
	StateBlocked           State = "Blocked"      // another flow holds the node
	StatePreparing         State = "Preparing"    // Config, still in the old stateroot
	StateFinishing         State = "Finishing"    // Config, in the new stateroot
	StateFinishingForGood  State = "FinishingForGood"
	StateConfigured        State = "Configured"        // Config completed, old stateroot kept
	StateConfiguredForGood State = "ConfiguredForGood" // Config completed, nothing to go back to
	StateConfigFailed      State = "ConfigFailed"      // failed; the old stateroot runs
	StateFinishFailed      State = "FinishFailed"      // failed; the new stateroot runs

	StateFinishFailedForGood State = "FinishFailedForGood"

	StateRollingBack    State = "RollingBack"
	StateRollbackFailed State = "RollbackFailed" // the new stateroot still runs

	StateRollbackFailedForGood State = "RollbackFailedForGood"

	StateRolledBack State = "RolledBack"
)

// Stage is one row of the state machine.
type Stage struct {
	State State
	// Next lists what spec.stage may be changed to. Empty is allowed only in a state
	// that ends by itself.
	Next []lcav1.IPConfigStage
	// Ends says that the state is left without a request: work is under way or retried.
	Ends bool
	// Leads lists the states that can follow.
	Leads []State
}

// Stages is the table from which validNextStages, the admission tests, the docs and the state
// diagram are derived.
func Stages() []Stage {
	const idle, config, rollback = lcav1.StageIdle, lcav1.StageConfig, lcav1.StageRollback
	type stages = []lcav1.IPConfigStage
	return []Stage{
		{StateNew, stages{idle}, true, []State{StateBecomingIdle, StateBlocked}},
		{StateBecomingIdle, stages{idle}, true, []State{StateIdle, StateBlocked}},
		{StateIdle, stages{config}, false, []State{StatePreparing, StateBlocked}},
		{StateBlocked, stages{idle}, true, []State{StatePreparing, StateBecomingIdle, StateIdle}},
		{StatePreparing, stages{idle}, true, []State{StateFinishing, StateConfigFailed, StateConfiguredForGood, StateBecomingIdle}},
		{StateFinishing, stages{rollback}, true,
			[]State{StateConfigured, StateFinishingForGood, StateFinishFailed, StateConfigFailed, StateRollingBack}},
		{StateFinishingForGood, stages{idle}, true, []State{StateConfiguredForGood, StateFinishFailedForGood, StateBecomingIdle}},
		{StateConfigured, stages{idle, rollback}, false, []State{StateBecomingIdle, StateRollingBack, StateConfiguredForGood}},
		{StateConfiguredForGood, stages{idle}, false, []State{StateBecomingIdle}},
		{StateConfigFailed, stages{idle}, false, []State{StateBecomingIdle}},
		{StateFinishFailed, stages{rollback}, false, []State{StateRollingBack, StateFinishing, StateFinishFailedForGood}},
		{StateFinishFailedForGood, stages{idle}, false, []State{StateBecomingIdle, StateFinishingForGood}},
		{StateRollingBack, nil, true, []State{StateRolledBack, StateRollbackFailed, StateRollbackFailedForGood}},
		{StateRollbackFailed, stages{idle, rollback}, true, []State{StateRollingBack, StateBecomingIdle, StateRollbackFailedForGood}},
		{StateRollbackFailedForGood, stages{idle}, false, []State{StateBecomingIdle}},
		{StateRolledBack, stages{idle}, false, []State{StateBecomingIdle}},
	}
}

// forGood maps a state to the one that it is when the old stateroot is gone.
func forGood() map[State]State {
	return map[State]State{
		StateFinishing: StateFinishingForGood, StateConfigured: StateConfiguredForGood,
		StateFinishFailed: StateFinishFailedForGood, StateRollbackFailed: StateRollbackFailedForGood,
	}
}

// WithoutWayBack is the state when the old stateroot is gone; most know no difference.
func (s State) WithoutWayBack() State {
	if without, ok := forGood()[s]; ok {
		return without
	}
	return s
}

// WithWayBack is the state without that difference, which for most purposes there is not.
func (s State) WithWayBack() State {
	for with, without := range forGood() {
		if s == without {
			return with
		}
	}
	return s
}

// ValidNext is what spec.stage may be changed to in a state.
func ValidNext(s State) []lcav1.IPConfigStage {
	for _, row := range Stages() {
		if row.State == s {
			return row.Next
		}
	}
	return []lcav1.IPConfigStage{lcav1.StageIdle}
}

// Allowed says whether a stage may be asked for in a state.
func Allowed(s State, want lcav1.IPConfigStage) bool {
	for _, next := range ValidNext(s) {
		if next == want {
			return true
		}
	}
	return false
}
