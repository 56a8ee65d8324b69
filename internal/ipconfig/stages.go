package ipconfig

import lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"

// State is where the one IPConfig of a cluster stands. Together with the stage
// table below it is the whole state machine.
type State string

// The states, named for what a person would say of the node.
const (
	StateNew               State = "New"               // no Idle condition yet
	StateBecomingIdle      State = "BecomingIdle"      // cleaning up, or waiting for health
	StateIdle              State = "Idle"              // spec may change
	StateBlocked           State = "Blocked"           // another flow holds the node
	StatePreparing         State = "Preparing"         // Config, still in the old stateroot
	StateFinishing         State = "Finishing"         // Config, in the new stateroot
	StateConfigured        State = "Configured"        // Config completed, old stateroot kept
	StateConfiguredForGood State = "ConfiguredForGood" // Config completed, nothing to go back to
	StateConfigFailed      State = "ConfigFailed"      // failed; the old stateroot runs
	StateFinishFailed      State = "FinishFailed"      // failed; the new stateroot runs
	StateRollingBack       State = "RollingBack"
	StateRollbackFailed    State = "RollbackFailed" // the new stateroot still runs
	StateRolledBack        State = "RolledBack"
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
		{StateNew, stages{idle}, true, []State{StateBecomingIdle}},
		{StateBecomingIdle, stages{idle}, true, []State{StateIdle}},
		{StateIdle, stages{config}, false, []State{StatePreparing, StateBlocked, StateConfigFailed}},
		{StateBlocked, stages{idle}, true, []State{StatePreparing, StateBecomingIdle}},
		{StatePreparing, stages{idle}, true, []State{StateFinishing, StateConfigFailed, StateConfiguredForGood, StateBecomingIdle}},
		{StateFinishing, stages{rollback}, true,
			[]State{StateConfigured, StateConfiguredForGood, StateFinishFailed, StateConfigFailed, StateRollingBack}},
		{StateConfigured, stages{idle, rollback}, false, []State{StateBecomingIdle, StateRollingBack}},
		{StateConfiguredForGood, stages{idle}, false, []State{StateBecomingIdle}},
		{StateConfigFailed, stages{idle}, false, []State{StateBecomingIdle}},
		{StateFinishFailed, stages{rollback}, false, []State{StateRollingBack}},
		{StateRollingBack, nil, true, []State{StateRolledBack, StateRollbackFailed}},
		{StateRollbackFailed, stages{idle, rollback}, true, []State{StateRollingBack, StateBecomingIdle}},
		{StateRolledBack, stages{idle}, false, []State{StateBecomingIdle}},
	}
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
