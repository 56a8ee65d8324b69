package ipconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// advanceRollback reboots into the old stateroot, and awaits the cluster's health there.
func (r *Reconciler) advanceRollback(ctx context.Context, ipc *lcav1.IPConfig, o observation, state ipconfig.State) outcome {
	switch {
	case state == ipconfig.StateRollbackFailedNoRollback:
		message := appendBlocked(msgNoRollback, o.rollbackBlocked()) + "; set spec.stage to Idle to accept it"
		return outcome{state: state, message: message, again: whileBlocked}
	case state == ipconfig.StateRollbackFailed || state == ipconfig.StateRollingBack && o.inNew():
		return r.rebootToOldRoot(ctx, o, state)
	case state == ipconfig.StateReturned:
		return r.awaitOldRootHealth(ctx, ipc, o)
	default:
		return outcome{state: state, again: atRest}
	}
}

// rebootToOldRoot has lca-cli reboot into the old stateroot, and retries until it does.
func (r *Reconciler) rebootToOldRoot(ctx context.Context, o observation, state ipconfig.State) outcome {
	out := outcome{state: state, message: msgRollback, again: whileRunning}
	unit := o.units[ipconfig.UnitRollback]
	if unit.Running() {
		out.message += r.returning.InProgress()
		return out
	}
	if state == ipconfig.StateRollbackFailed {
		out.message = "ip-config rollback failed, retrying. error: " +
			nodejob.HowItEnded(ipconfig.UnitRollback, unit, o.progress.Rollback.Failure) + r.returning.Outlook(o.now) + hintRollback
		out.again = r.returning.Wait(o.now)
	}
	if err := r.retryRollback(ctx, o); err != nil {
		out.message = "The rollback could not be started on the node, retrying: " + err.Error()
	}
	return out
}

// hintRollback is what a person can do about a rollback that keeps failing.
const hintRollback = ". Run 'lca-cli ip-config status' on the node for details; set spec.stage to Idle to keep the new network instead"

// awaitOldRootHealth awaits the cluster's health in the old stateroot.
func (r *Reconciler) awaitOldRootHealth(ctx context.Context, ipc *lcav1.IPConfig, o observation) outcome {
	r.returning.Reset()
	blocked := status.FirstOf(
		func() *status.Blocked {
			return r.blockUnhealthy(ctx, ipc, lcav1.SkipPreConfigurationHealthChecksAnnotation)
		},
		func() *status.Blocked { return o.unobserved },
	)
	if blocked != nil { // Idle, too, waits for health before it removes anything
		return outcome{state: ipconfig.StateReturned, message: blocked.String() + "; or set spec.stage to Idle", again: whileWaiting}
	}
	return outcome{state: ipconfig.StateRolledBack, message: msgRolledBack, again: atRest}
}

// returnedOnRequest says that the user requested the rollback in the new stateroot's API; the object here is older than
// that request.
func (o observation) returnedOnRequest() bool {
	return o.hasReturned() && strings.HasPrefix(o.progress.Cause, ipconfig.CauseRequested)
}

// adoptRollback sets the stage that the user requested before the reboot. The API allows that only once validNextStages
// lists it, hence in two passes.
func (r *Reconciler) adoptRollback(ctx context.Context, ipc *lcav1.IPConfig) (outcome, error) {
	out := outcome{state: ipconfig.StateRollingBack, message: msgRollback, next: []lcav1.IPConfigStage{lcav1.StageRollback}, again: atOnce}
	if !slices.Contains(ipc.Status.ValidNextStages, lcav1.StageRollback) {
		return out, nil
	}
	base := ipc.DeepCopy()
	ipc.Spec.Stage = lcav1.StageRollback
	if err := r.Client.Patch(ctx, ipc, client.MergeFrom(base)); err != nil {
		return outcome{}, fmt.Errorf("set stage %s of ipconfig %s: %w", lcav1.StageRollback, ipc.Name, err)
	}
	return out, nil
}
