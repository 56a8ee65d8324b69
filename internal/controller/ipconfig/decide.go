package ipconfig

import (
	"context"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// How long until the next look.
const (
	atOnce       = time.Second
	onward       = 50 * time.Millisecond // a stage was accepted and that is written down: it is begun
	whileRunning = 2 * time.Second
	whileWaiting = 20 * time.Second
	whileBlocked = 30 * time.Second
	atRest       = 30 * time.Second
)

// outcome is what one reconciliation came to; report.go turns it into status.
type outcome struct {
	state ipconfig.State
	// message goes into the state's condition; empty means its usual words.
	message string
	// failed marks a BecomingIdle that could not clean up.
	failed bool
	// invalid is the stage that was asked for though the state does not allow it.
	invalid lcav1.IPConfigStage
	// next overrides validNextStages; nil leaves it to the stage table.
	next []lcav1.IPConfigStage
	// operation is the id chosen for a request that was just accepted.
	operation string
	preflight []lcav1.PreflightCheck
	plan      *lcav1.PlanSummary
	again     time.Duration
}

// Messages of conditions, as published.
const (
	msgBecomingIdle = "In progress of becoming idle"
	msgIdle         = "Idle"
	msgBlocked      = "IBU is not idle"
	msgConfig       = "Configuration in progress"
	msgStabilizing  = "Waiting for system to stabilize: "
	msgMismatch     = "Waiting for current IPs to match spec: desired network not observed in status: "
	msgConfigured   = "Configuration completed successfully"
	msgNothingToDo  = "Spec and status match; nothing to do"
	msgUncontrolled = "Uncontrolled rollback"
	msgRollback     = "Rollback requested"
	msgRolledBack   = "Rollback completed"
	msgNoWayBack    = "rollback validation failed: unbooted stateroot is not available"
)

// decide does the next thing for the object and says what it came to.
func (r *Reconciler) decide(ctx context.Context, ipc *lcav1.IPConfig, o observation) (outcome, error) {
	stage, want := stageOf(ipc.Status.Conditions), ipc.Spec.Stage
	if o.request != nil && isTrue(ipc.Status.Conditions, lcav1.ConditionIdle) {
		stage = want // an operation is on the node: the object was restored or its status lost
	}
	state := stateOf(stage, ipc.Status.Conditions, o)
	if want == lcav1.StageConfig && o.returnedOnRequest() {
		return r.adoptRollback(ctx, ipc)
	}
	if stage == want {
		return r.goOn(ctx, ipc, o, want, state)
	}
	if ipconfig.Allowed(state, want) {
		return r.transition(ctx, ipc, o)
	}
	// What was asked for cannot be had; what was accepted before goes on all the same.
	out, err := r.goOn(ctx, ipc, o, stage, state)
	out.invalid = want
	return out, err
}

// goOn does the next thing for a stage that was accepted.
func (r *Reconciler) goOn(
	ctx context.Context, ipc *lcav1.IPConfig, o observation, stage lcav1.IPConfigStage, state ipconfig.State,
) (outcome, error) {
	switch stage {
	case lcav1.StageIdle:
		return r.idle(ctx, ipc, o, state)
	case lcav1.StageConfig:
		return r.config(ctx, ipc, o, state)
	default:
		return r.rollback(ctx, ipc, o, state)
	}
}

// transition accepts a stage that is new. Acceptance is written down before anything
// is done about it, so that a crash right after finds it in status.
func (r *Reconciler) transition(ctx context.Context, ipc *lcav1.IPConfig, o observation) (outcome, error) {
	want := ipc.Spec.Stage
	if out, blocked, err := r.gate(ctx, o); blocked || err != nil {
		return out, err
	}
	switch want {
	case lcav1.StageConfig:
		return outcome{state: ipconfig.StatePreparing, operation: ipconfig.NewOperationID(o.now, r.Random()), again: onward}, nil
	case lcav1.StageRollback:
		return outcome{state: ipconfig.StateRollingBack, message: msgRollback, again: onward}, nil
	default:
		return outcome{state: ipconfig.StateBecomingIdle, again: onward}, nil
	}
}
