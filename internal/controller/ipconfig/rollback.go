package ipconfig

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// rollback returns to the old stateroot, or waits there until the cluster is healthy.
func (r *Reconciler) rollback(ctx context.Context, ipc *lcav1.IPConfig, o observation, state ipconfig.State) (outcome, error) {
	switch {
	case state == ipconfig.StateRollbackFailedForGood:
		return outcome{state: state, message: msgNoWayBack + o.wayBackGone(), again: whileBlocked}, nil
	case state == ipconfig.StateRollbackFailed || state == ipconfig.StateRollingBack && o.inNew():
		return r.returnTo(ctx, ipc, o, state), nil
	case state == ipconfig.StateRollingBack:
		return r.settle(ctx, ipc, o), nil
	default:
		return outcome{state: state, again: atRest}, nil
	}
}

// returnTo has lca-cli reboot into the old stateroot, again and again until it does.
func (r *Reconciler) returnTo(ctx context.Context, ipc *lcav1.IPConfig, o observation, state ipconfig.State) outcome {
	out := outcome{state: state, message: msgRollback, again: whileRunning}
	unit := o.units[host.UnitRollback]
	if unit.Running() {
		out.message += r.returning.underWay()
		return out
	}
	if state == ipconfig.StateRollbackFailed {
		out.message = "ip-config rollback failed, trying again. error: " +
			howItEnded(host.UnitRollback, unit, o.progress.Rollback.Failure) + r.returning.outlook(o.now) + hintRollback
		out.again = r.returning.wait(o.now)
	}
	if !r.returning.ready(o.now) {
		return out
	}
	err := r.save(ipc)
	if err == nil {
		err = r.again(ctx, o, &r.returning, host.UnitRollback, "rollback", "--stateroot", o.request.OldStateroot)
	}
	if err != nil {
		out.message = "The node did not take the rollback, trying again: " + err.Error()
	}
	return out
}

// hintRollback is what a person can do about a rollback that keeps failing.
const hintRollback = ". 'lca-cli ip-config status' on the node tells more; set spec.stage to Idle to keep the new network instead"

// settle waits in the old stateroot for the cluster.
func (r *Reconciler) settle(ctx context.Context, ipc *lcav1.IPConfig, o observation) outcome {
	r.returning.reset()
	problem := r.unhealthy(ctx, ipc, lcav1.SkipPreConfigurationHealthChecksAnnotation)
	if problem = or(problem, o.blind); problem != "" {
		return outcome{state: ipconfig.StateRollingBack, message: msgStabilizing + problem, again: whileWaiting}
	}
	return outcome{state: ipconfig.StateRolledBack, message: msgRolledBack, again: atRest}
}

// returnedOnRequest says that the node came back because the user asked for it,
// in the other stateroot's API; the object here is older than that request.
func (o observation) returnedOnRequest() bool {
	return o.cameBack() && strings.HasPrefix(o.progress.Cause, ipconfig.CauseRequested)
}

// adoptRollback makes the object say what the user asked for before the reboot: stage Rollback. The API
// allows that only once validNextStages lists it, hence in two passes.
func (r *Reconciler) adoptRollback(ctx context.Context, ipc *lcav1.IPConfig) (outcome, error) {
	out := outcome{state: ipconfig.StateRollingBack, message: msgRollback, next: []lcav1.IPConfigStage{lcav1.StageRollback}, again: atOnce}
	if !slices.Contains(ipc.Status.ValidNextStages, lcav1.StageRollback) {
		return out, nil
	}
	base := ipc.DeepCopy()
	ipc.Spec.Stage = lcav1.StageRollback
	return out, r.Client.Patch(ctx, ipc, client.MergeFrom(base))
}
