package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// finish is Config in the new stateroot: the change is complete when lca-cli is done, the cluster is
// healthy and the node has what the spec asks for. Until then the watchdog stays armed.
func (r *Reconciler) finish(ctx context.Context, ipc *lcav1.IPConfig, o observation, state ipconfig.State) outcome {
	unit := o.units[host.UnitIPConfiguration]
	wait := outcome{state: state, again: whileRunning}
	wait.message = trouble(host.UnitIPConfiguration, unit, o.progress.PostPivot) + o.halted() + o.wayBackGone()
	if o.progress.Rollback.Begun && o.canReturn() {
		return r.seeOff(ctx, o)
	}
	if !o.progress.PostPivot.Finished {
		return wait
	}
	wait.again = whileWaiting
	if problem := r.unproved(ctx, ipc, o); problem != "" {
		wait.message = problem + o.wayBackGone()
		return wait
	}
	if err := r.disarm(ctx, o); err != nil {
		wait.message = msgStabilizing + err.Error() + "; trying again"
		return wait
	}
	out := outcome{state: ipconfig.StateConfigured, message: msgConfigured, again: atRest}
	if !o.canReturn() {
		out.state = out.state.WithoutWayBack()
	}
	return out
}

// halted says so where somebody has stopped post-pivot. It is not started again: whoever stopped it may be at work on the node, and if
// not, the watchdog goes back at its deadline.
func (o observation) halted() string {
	unit := o.units[host.UnitIPConfiguration]
	if o.progress.PostPivot.Finished || !unit.Exists() || unit.Running() {
		return ""
	}
	text := fmt.Sprintf("; %[1]s does not run: 'systemctl start %[1]s' on the node goes on with the change", host.UnitIPConfiguration)
	if o.canReturn() {
		text += ", stage " + string(lcav1.StageRollback) + " goes back"
	}
	return text
}

// wayBackGone says so where the operation has pivoted and the stateroot it came from has vanished.
func (o observation) wayBackGone() string {
	if !o.inNew() || o.canReturn() {
		return ""
	}
	return fmt.Sprintf("; there is no way back, because stateroot %s is gone: the change stays as it is", o.request.OldStateroot)
}

// unproved says what is still missing from a complete change; empty for nothing.
func (r *Reconciler) unproved(ctx context.Context, ipc *lcav1.IPConfig, o observation) string {
	if problem := r.unhealthy(ctx, ipc, lcav1.SkipPostConfigurationHealthChecksAnnotation); problem != "" {
		return msgStabilizing + problem
	}
	if o.blind != "" {
		return msgStabilizing + o.blind
	}
	if differences := inSync(ipc, o); len(differences) > 0 {
		return msgMismatch + strings.Join(differences, ", ")
	}
	return ""
}

// seeOff follows a rollback that lca-cli began by itself. One that came to a halt, because its
// process was ended, is started again: what was begun ends in the old system.
func (r *Reconciler) seeOff(ctx context.Context, o observation) outcome {
	out := outcome{state: ipconfig.StateFinishing, again: whileRunning, message: "Returning to the former stateroot: " + o.progress.Cause}
	if o.progress.Rollback.Failure != "" {
		out.message += "; trying again after a failure: " + o.progress.Rollback.Failure
	}
	if o.units[host.UnitIPConfiguration].Running() || o.units[host.UnitRollback].Running() {
		return out
	}
	if err := r.again(ctx, o, &r.returning, host.UnitRollback, "rollback", "--stateroot", o.request.OldStateroot); err != nil {
		out.message += "; " + err.Error()
	}
	return out
}

// disarm stops the watchdog, now and for later boots. Nothing else ends its watch but its deadline, which
// may have passed just now: then its rollback counts, and not what was seen before.
func (r *Reconciler) disarm(ctx context.Context, o observation) error {
	state, err := r.Node.Units.State(ctx, host.UnitInitMonitor)
	if err == nil && !state.Exists() {
		return nil
	}
	err = errors.Join(err, r.Node.Units.Stop(ctx, host.UnitInitMonitor), r.Node.Units.Disable(ctx, host.UnitInitMonitor))
	if err != nil {
		return fmt.Errorf("the watchdog %s could not be disarmed: %w", host.UnitInitMonitor, err)
	}
	progress, err := ipconfig.ReadProgress(r.Node.Files, o.request.OperationID)
	if err == nil && progress.Rollback.Begun && o.canReturn() {
		err = errors.New("the watchdog was faster: " + progress.Cause)
	}
	return err
}
