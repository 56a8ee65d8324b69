package ipconfig

import (
	"slices"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// State is the state of the one IPConfig of a cluster. Together with the stage table below it is the whole state machine.
type State string

// The states. In those that end in NoRollback the old stateroot is gone.
const (
	StateNew                  State = "New"          // no Idle condition yet
	StateBecomingIdle         State = "BecomingIdle" // cleaning up, or waiting for health
	StateIdle                 State = "Idle"         // spec may change
	StateBlocked              State = "Blocked"      // another flow holds the node
	StatePreparing            State = "Preparing"    // Config, still in the old stateroot
	StateFinishing            State = "Finishing"    // Config, in the new stateroot
	StateFinishingNoRollback  State = "FinishingNoRollback"
	StateConfigured           State = "Configured"           // Config completed, old stateroot kept
	StateConfiguredNoRollback State = "ConfiguredNoRollback" // Config completed, nothing to go back to
	StateConfigFailed         State = "ConfigFailed"         // failed; the old stateroot runs
	StateFinishFailed         State = "FinishFailed"         // failed; the new stateroot runs

	StateFinishFailedNoRollback State = "FinishFailedNoRollback"

	StateRollingBack    State = "RollingBack"
	StateReturned       State = "Returned"       // Rollback, waiting for health; the old stateroot runs
	StateRollbackFailed State = "RollbackFailed" // the new stateroot still runs

	StateRollbackFailedNoRollback State = "RollbackFailedNoRollback"

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
		{StatePreparing, stages{idle}, true, []State{StateFinishing, StateConfigFailed, StateConfiguredNoRollback, StateBecomingIdle}},
		{StateFinishing, stages{rollback}, true,
			[]State{StateConfigured, StateFinishingNoRollback, StateFinishFailed, StateConfigFailed, StateRollingBack}},
		{StateFinishingNoRollback, stages{idle}, true, []State{StateConfiguredNoRollback, StateFinishFailedNoRollback, StateBecomingIdle}},
		{StateConfigured, stages{idle, rollback}, false, []State{StateBecomingIdle, StateRollingBack, StateConfiguredNoRollback}},
		{StateConfiguredNoRollback, stages{idle}, false, []State{StateBecomingIdle}},
		{StateConfigFailed, stages{idle}, false, []State{StateBecomingIdle}},
		{StateFinishFailed, stages{rollback}, false, []State{StateRollingBack, StateFinishing, StateFinishFailedNoRollback}},
		{StateFinishFailedNoRollback, stages{idle}, false, []State{StateBecomingIdle, StateFinishingNoRollback}},
		{StateRollingBack, nil, true, []State{StateReturned, StateRolledBack, StateRollbackFailed, StateRollbackFailedNoRollback}},
		{StateReturned, stages{idle}, true, []State{StateRolledBack, StateBecomingIdle}},
		{StateRollbackFailed, stages{idle, rollback}, true, []State{StateRollingBack, StateBecomingIdle, StateRollbackFailedNoRollback}},
		{StateRollbackFailedNoRollback, stages{idle}, false, []State{StateBecomingIdle}},
		{StateRolledBack, stages{idle}, false, []State{StateBecomingIdle}},
	}
}

// withoutRollback maps a state to its counterpart without the old stateroot.
func withoutRollback() map[State]State {
	return map[State]State{
		StateFinishing: StateFinishingNoRollback, StateConfigured: StateConfiguredNoRollback,
		StateFinishFailed: StateFinishFailedNoRollback, StateRollbackFailed: StateRollbackFailedNoRollback,
	}
}

// WithoutRollback is the state's counterpart without the old stateroot; the state itself where there is none.
func (s State) WithoutRollback() State {
	if without, ok := withoutRollback()[s]; ok {
		return without
	}
	return s
}

// WithRollback is the inverse of WithoutRollback.
func (s State) WithRollback() State {
	for with, without := range withoutRollback() {
		if s == without {
			return with
		}
	}
	return s
}

// Failed says that a stage has failed, so that a person has to ask for another one.
func (s State) Failed() bool {
	switch s.WithRollback() {
	case StateConfigFailed, StateFinishFailed, StateRollbackFailed:
		return true
	default:
		return false
	}
}

// Ends says that the state is left without a request: work is under way or retried.
func (s State) Ends() bool {
	return slices.ContainsFunc(Stages(), func(row Stage) bool { return row.State == s && row.Ends })
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

// Allowed reports whether a stage may be requested in a state.
func Allowed(s State, want lcav1.IPConfigStage) bool {
	for _, next := range ValidNext(s) {
		if next == want {
			return true
		}
	}
	return false
}
