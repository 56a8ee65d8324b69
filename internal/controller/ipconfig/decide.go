package ipconfig

import (
	"context"
	"fmt"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// How long until the next reconciliation.
const (
	atOnce       = time.Second
	onward       = 50 * time.Millisecond // a stage was accepted and written to status: it begins
	whileRunning = 2 * time.Second
	whileWaiting = 20 * time.Second
	whileBlocked = 30 * time.Second
	atRest       = 30 * time.Second
)

// outcome is the result of one reconciliation; report.go turns it into status.
type outcome struct {
	state ipconfig.State
	// message goes into the state's condition; empty means its default, or what it says already.
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

// Messages of conditions.
const (
	msgBecomingIdle = "In progress of becoming idle"
	msgForeign      = " of status is none that this node has accepted since it booted: it is discarded, and the node becomes idle before " +
		"anything begins"
	msgIdle         = "Idle"
	msgUpgrade      = "IBU is not idle"
	hintUpgrade     = "this request begins once it is; finalize or abort ImageBasedUpgrade upgrade, by its stage Idle"
	msgConfig       = "Configuration in progress"
	msgStabilizing  = "Waiting for system to stabilize: "
	msgMismatch     = "Waiting for current IPs to match spec: desired network not observed in status: "
	msgConfigured   = "Configuration completed successfully"
	msgNothingToDo  = "Spec and status match; nothing to do"
	msgUncontrolled = "Uncontrolled rollback: the node runs its former stateroot, and no program of the product chose it (the boot menu, " +
		"'ostree admin set-default', or a boot that failed); the logs of the other one are below "
	msgLastResort = "Rollback by " + ipconfig.UnitLastResort + ": lca-cli is damaged or did not run in stateroot "
	msgRollback   = "Rollback requested"
	msgRolledBack = "Rollback completed"
	msgNoRollback = "rollback validation failed: unbooted stateroot is not available"
	msgNotStarted = "The request could not be handed to the node, retrying: "
)

// decideStep takes the next step of the accepted stage, or accepts another one.
func (r *Reconciler) decideStep(ctx context.Context, ipc *lcav1.IPConfig, o observation) (outcome, error) {
	stage, want := stageOf(ipc.Status.Conditions), ipc.Spec.Stage
	state := stateOf(stage, ipc.Status.Conditions, o)
	switch {
	case r.isForeign(ipc, o, state):
		return becomingIdle("operation " + ipc.Status.OperationID + msgForeign), nil
	case want == lcav1.StageConfig && o.returnedOnRequest():
		return r.adoptRollback(ctx, ipc)
	case stage == want:
		return r.advanceStage(ctx, ipc, o, want, state)
	case ipconfig.Allowed(state, want):
		return r.acceptStage(ctx, want, o)
	}
	// The request is declined; the stage that was accepted before continues.
	out, err := r.advanceStage(ctx, ipc, o, stage, state)
	out.invalid = want
	return out, err
}

// advanceStage takes the next step of an accepted stage.
func (r *Reconciler) advanceStage(
	ctx context.Context, ipc *lcav1.IPConfig, o observation, stage lcav1.IPConfigStage, state ipconfig.State,
) (outcome, error) {
	switch stage {
	case lcav1.StageIdle:
		return r.bringToIdle(ctx, ipc, o, state)
	case lcav1.StageConfig:
		return r.advanceConfig(ctx, ipc, o, state)
	default:
		return r.advanceRollback(ctx, ipc, o, state), nil
	}
}

// acceptStage accepts a new stage. It is written to status before anything is done about it, so that a crash right after finds
// it there.
func (r *Reconciler) acceptStage(ctx context.Context, want lcav1.IPConfigStage, o observation) (outcome, error) {
	if blocked, err := r.nodeTaken(ctx, o); blocked != nil || err != nil {
		return blockedBy(blocked), err
	}
	switch want {
	case lcav1.StageConfig:
		return outcome{state: ipconfig.StatePreparing, operation: r.acceptOperation(o.now), again: onward}, nil
	case lcav1.StageRollback:
		return outcome{state: ipconfig.StateRollingBack, message: msgRollback, again: onward}, nil
	default:
		return outcome{state: ipconfig.StateBecomingIdle, again: onward}, nil
	}
}

// acceptOperation chooses the id of an operation, and records it on the node: a status alone may have been restored. Where the disk
// takes no record, memory has to do.
func (r *Reconciler) acceptOperation(now time.Time) string {
	r.accepted = operation.NewID(now, r.Random())
	if err := ipconfig.WriteAccepted(r.Node.Files, r.accepted); err != nil {
		r.Log.Warn("the accepted operation could not be recorded", "op", r.accepted, "error", err)
	}
	return r.accepted
}

// isForeign says that status names a change that is being prepared, and that this node has not accepted since it booted: it was restored
// from elsewhere, or the node rebooted before the change was handed over.
func (r *Reconciler) isForeign(ipc *lcav1.IPConfig, o observation, state ipconfig.State) bool {
	id := ipc.Status.OperationID
	return state == ipconfig.StatePreparing && o.request == nil && id != r.accepted && !ipconfig.Accepted(r.Node.Files, id)
}

func blockedBy(b *status.Blocked) outcome {
	if b == nil {
		return outcome{}
	}
	return outcome{state: ipconfig.StateBlocked, message: b.String(), again: whileBlocked}
}

// nodeTaken blocks while another operation has the node's lock, or an image based upgrade is not idle: that also chooses
// what boots and keeps files in the same workspace. An operation on the node is never blocked; it must come to its end.
func (r *Reconciler) nodeTaken(ctx context.Context, o observation) (*status.Blocked, error) {
	if o.request != nil {
		return nil, nil
	}
	if o.holder != nil {
		return lockHeld(o.holder), nil
	}
	busy, err := cluster.ImageBasedUpgradeBusy(ctx, runtimeclient.NewReader(r.Reader))
	if err != nil || !busy {
		return nil, err
	}
	return &status.Blocked{Reason: lcav1.ReasonBlocked, Message: msgUpgrade, Hint: hintUpgrade}, nil
}

func lockHeld(by *host.Holder) *status.Blocked {
	return &status.Blocked{Reason: lcav1.ReasonBlocked, Message: (&host.BusyError{Holder: *by}).Error()}
}

// blockUnhealthy blocks while the cluster is not healthy, unless the annotation skips the checks.
func (r *Reconciler) blockUnhealthy(ctx context.Context, ipc *lcav1.IPConfig, skip string) *status.Blocked {
	if _, skipped := ipc.Annotations[skip]; skipped {
		return nil
	}
	if health := r.observeHealth(ctx); !health.Healthy() {
		return &status.Blocked{Reason: "Unhealthy", Message: msgStabilizing + health.String(),
			Hint: "to continue without health, annotate ipconfig with " + skip}
	}
	return nil
}

// blockUnsteady blocks while the cluster has not been healthy for long enough after the change of an operation to end the way back.
func (r *Reconciler) blockUnsteady(ctx context.Context, ipc *lcav1.IPConfig, operation string) *status.Blocked {
	const skip = lcav1.SkipPostConfigurationHealthChecksAnnotation
	if _, skipped := ipc.Annotations[skip]; skipped {
		return nil
	}
	if r.holding != operation {
		r.hold, r.holding = bringup.Hold{}, operation
	}
	blocked := r.blockUnhealthy(ctx, ipc, skip)
	if r.hold.Observe(r.examined, blocked == nil) || blocked != nil {
		return blocked
	}
	return &status.Blocked{Reason: "Stabilizing",
		Message: fmt.Sprintf("%sthe cluster is healthy; that has to hold for %s", msgStabilizing, bringup.HealthHold)}
}

// cliJob makes `lca-cli ip-config <verb...>` as a transient unit. Pre-pivot stops the cluster, so only systemd can restart it; the
// others are retried by the operator, with back-off, which also reports why.
func cliJob(unit string, verb ...string) nodejob.Job {
	return nodejob.Job{
		Unit: unit, Description: "lifecycle-agent: ip-config " + verb[0],
		Argv:    append([]string{host.CLI, "ip-config"}, verb...),
		Restart: unit == ipconfig.UnitPrePivot,
	}
}

func (r *Reconciler) retryJob(ctx context.Context, o observation, b *nodejob.Backoff, j nodejob.Job) error {
	return nodejob.Retry(ctx, r.Node.Transients, j, b, o.now)
}

// retryRollback starts lca-cli's rollback to the old stateroot, with back-off.
func (r *Reconciler) retryRollback(ctx context.Context, o observation) error {
	return r.retryJob(ctx, o, &r.returning, cliJob(ipconfig.UnitRollback, "rollback", "--stateroot", o.request.OldStateroot))
}
