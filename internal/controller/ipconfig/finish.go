package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// finishChange carries out Config in the new stateroot: the change is complete when lca-cli is done, the cluster is
// steadily healthy and the node has what the spec asks for. lca-cli has disarmed the watchdog when it was done, unless an annotation
// asks for a rollback where health does not follow.
func (r *Reconciler) finishChange(ctx context.Context, ipc *lcav1.IPConfig, o observation, state ipconfig.State) outcome {
	if o.progress.Rollback.Begun && o.canRollBack() {
		return r.awaitRollback(ctx, o)
	}
	if !o.progress.PostPivot.Finished {
		message := flowMessage(ipconfig.UnitIPConfiguration, o.units[ipconfig.UnitIPConfiguration], o.progress.PostPivot)
		return outcome{state: state, message: appendBlocked(message, o.blockStopped(), o.rollbackBlocked()), again: whileRunning}
	}
	blocked := status.FirstOf(
		func() *status.Blocked {
			return r.blockUnsteady(ctx, ipc, o.request.OperationID)
		},
		func() *status.Blocked { return o.unobserved },
		func() *status.Blocked { return blockMismatch(ipc, o) },
	)
	if blocked == nil {
		blocked = r.disarmWatchdog(ctx, o)
	}
	news, err := r.recordHealth(o, blocked)
	if err != nil && blocked == nil {
		blocked = &status.Blocked{Reason: "NotRecorded", Message: msgStabilizing + status.OneLine(err.Error()) + "; retrying"}
	}
	if blocked != nil {
		if news {
			r.publishEvent(ctx, ipc, awaitingHealth(blocked, o.now))
		}
		return outcome{state: state, message: appendBlocked(blocked.String(), o.wayBack(), o.rollbackBlocked()), again: whileWaiting}
	}
	r.confirmChange(o)
	out := outcome{state: ipconfig.StateConfigured, message: msgConfigured + o.warningMessage(), again: atRest}
	if !o.canRollBack() {
		out.state = out.state.WithoutRollback()
	}
	return out
}

// wayBack says what becomes of a change that is proved while its cluster is not healthy.
func (o observation) wayBack() *status.Blocked {
	switch {
	case !o.canRollBack():
		return nil
	case o.auto.HealthEnabled():
		return &status.Blocked{Reason: "Watched",
			Message: "the change is proved, and the watchdog rolls it back unless the cluster becomes healthy in time",
			Hint:    "set spec.stage to " + string(lcav1.StageRollback) + " to roll back now"}
	}
	return &status.Blocked{Reason: "Proved",
		Message: "network, API server, node and probes are proved, and nothing rolls back by itself any more",
		Hint:    "repair what is missing, or set spec.stage to " + string(lcav1.StageRollback)}
}

// recordHealth gives the node what the change waits for, for evidence and for what waits for the operation to end, and says
// whether that is news.
func (r *Reconciler) recordHealth(o observation, blocked *status.Blocked) (news bool, err error) {
	id := o.request.OperationID
	h := ipconfig.Health{OperationID: id, Healthy: blocked == nil, Since: o.now.UTC().Truncate(time.Second)}
	if blocked != nil {
		h.Missing = status.Clip(strings.TrimPrefix(blocked.Message, msgStabilizing))
	}
	was, found, err := ipconfig.ReadHealth(r.Node.Files, id)
	if err == nil && found && was.Healthy == h.Healthy && was.Missing == h.Missing {
		return false, nil
	}
	if err := ipconfig.WriteHealth(r.Node.Files, h); err != nil {
		return false, fmt.Errorf("record the health of operation %s: %w", id, err)
	}
	return true, nil
}

// warningMessage is what a change that succeeded leaves to do.
func (o observation) warningMessage() string {
	if o.progress.DNS == "" {
		return ""
	}
	return status.Clip("; warning: " + o.progress.DNS)
}

// blockStopped blocks while post-pivot is stopped by hand. It is not restarted, because a person may be at work on the node; if
// not, the watchdog rolls back at its deadline.
func (o observation) blockStopped() *status.Blocked {
	unit := o.units[ipconfig.UnitIPConfiguration]
	if !unit.Exists() || unit.Running() {
		return nil
	}
	b := &status.Blocked{Reason: "Stopped", Message: ipconfig.UnitIPConfiguration + " is not running",
		Hint: fmt.Sprintf("run 'systemctl start %s' on the node to continue", ipconfig.UnitIPConfiguration)}
	if o.canRollBack() {
		b.Hint += ", or set spec.stage to " + string(lcav1.StageRollback)
	}
	return b
}

// givenUp says how a post-pivot that failed for good can be left.
func (o observation) givenUp() *status.Blocked {
	const again = "repair the cause and run 'systemctl restart " + ipconfig.UnitIPConfiguration + "' on the node"
	if o.canRollBack() {
		return &status.Blocked{Reason: "GivenUp", Message: "set spec.stage to " + string(lcav1.StageRollback) + ", or " + again}
	}
	return &status.Blocked{Reason: "GivenUp", Message: again + ", or set spec.stage to " + string(lcav1.StageIdle)}
}

// rollbackBlocked says so where the operation has pivoted and the stateroot it came from no longer exists.
func (o observation) rollbackBlocked() *status.Blocked {
	if !o.inNew() || o.canRollBack() {
		return nil
	}
	return &status.Blocked{Reason: "NoOldStateroot", Hint: "the change stays in place",
		Message: fmt.Sprintf("rollback is not possible, because stateroot %s no longer exists", o.request.OldStateroot)}
}

// appendBlocked appends what blocks, if anything does, to a message.
func appendBlocked(message string, blocked ...*status.Blocked) string {
	for _, b := range blocked {
		if b != nil {
			message += "; " + b.String()
		}
	}
	return message
}

// blockMismatch blocks while the node does not have what the spec asks for.
func blockMismatch(ipc *lcav1.IPConfig, o observation) *status.Blocked {
	differences := ipconfig.InSync(ipc.Spec, o.current)
	if len(differences) == 0 {
		return nil
	}
	for i, field := range differences {
		want, have := ipconfig.BothValues(ipc.Spec, o.current, field)
		differences[i] = fmt.Sprintf("%s (spec %s, node %s)", field, want, have)
	}
	return &status.Blocked{Reason: "Mismatch", Message: msgMismatch + strings.Join(differences, ", ")}
}

// awaitRollback follows a rollback that lca-cli began by itself. It restarts one that was interrupted: a rollback that has
// begun ends in the old system.
func (r *Reconciler) awaitRollback(ctx context.Context, o observation) outcome {
	out := outcome{state: ipconfig.StateFinishing, again: whileRunning}
	out.message = "Rolling back to the previous stateroot: " + o.progress.Cause
	if o.progress.Rollback.Failure != "" {
		out.message += "; retrying after a failure: " + o.progress.Rollback.Failure
	}
	if o.units[ipconfig.UnitIPConfiguration].Running() || o.units[ipconfig.UnitRollback].Running() {
		return out
	}
	if err := r.retryRollback(ctx, o); err != nil {
		out.message += "; " + err.Error()
	}
	return out
}

// disarmWatchdog stops the watchdog, now and for later boots. Its deadline may have passed in the meantime: then its rollback
// counts, and not what was observed before.
func (r *Reconciler) disarmWatchdog(ctx context.Context, o observation) *status.Blocked {
	armed := func(err error) *status.Blocked {
		return &status.Blocked{Reason: "WatchdogArmed", Message: msgStabilizing + err.Error() + "; retrying"}
	}
	state, err := r.Node.Units.State(ctx, ipconfig.UnitInitMonitor)
	if err == nil && !state.Exists() {
		return nil
	}
	err = errors.Join(err, r.Node.Units.Stop(ctx, ipconfig.UnitInitMonitor), r.Node.Units.Disable(ctx, ipconfig.UnitInitMonitor))
	if err != nil {
		return armed(fmt.Errorf("disarm the watchdog %s: %w", ipconfig.UnitInitMonitor, err))
	}
	progress, err := ipconfig.ReadProgress(r.Node.Files, o.request.OperationID)
	switch {
	case err != nil:
		return armed(fmt.Errorf("read the journal of operation %s: %w", o.request.OperationID, err))
	case progress.Rollback.Begun && o.canRollBack():
		return armed(errors.New("the watchdog has begun a rollback: " + progress.Cause))
	}
	return nil
}
