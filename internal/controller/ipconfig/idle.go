package ipconfig

import (
	"context"
	"fmt"
	"strings"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// idle brings the node to rest: whatever still runs ends, the cluster is healthy,
// and what the last operation left is removed.
func (r *Reconciler) idle(ctx context.Context, ipc *lcav1.IPConfig, o observation, state ipconfig.State) (outcome, error) {
	if state == ipconfig.StateIdle {
		if err := r.cacheImage(ctx, ipc, o); err != nil { // a convenience: it holds nothing up
			r.emit(ctx, ipc, imageNotCached(r.recertImage(ipc), err.Error(), o.now))
		}
		return outcome{state: state, again: atRest}, nil
	}
	if out, blocked, err := r.gate(ctx, o); blocked || err != nil {
		return out, err
	}
	for _, step := range []func(context.Context, *lcav1.IPConfig, observation) (outcome, bool){
		r.abort, r.goBack, r.waitHealthy, r.cleanUp,
	} {
		if out, wait := step(ctx, ipc, o); wait {
			return out, nil
		}
	}
	r.cleaning.reset()
	if err := r.Node.Files.Remove(host.SavedIPConfig); err != nil {
		return outcome{}, fmt.Errorf("remove %s: %w", host.SavedIPConfig, err)
	}
	return outcome{state: ipconfig.StateIdle, again: atRest}, nil
}

func becomingIdle(message string) outcome {
	return outcome{state: ipconfig.StateBecomingIdle, message: message, again: whileRunning}
}

// stopPatience is how long one reconciliation waits for lca-cli to take its work back; the
// next one goes on waiting.
const stopPatience = 30 * time.Second

// abort ends a pre-pivot that has not yet chosen what boots next; lca-cli then takes
// everything back. After that choice the reboot is only moments away.
func (r *Reconciler) abort(ctx context.Context, _ *lcav1.IPConfig, o observation) (outcome, bool) {
	if !o.inOld() || o.cameBack() || !o.units[host.UnitPrePivot].Running() {
		return outcome{}, false
	}
	if o.progress.PrePivot.Committed {
		return becomingIdle("Waiting for the reboot that is under way"), true
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	if err := r.Node.Units.Stop(ctx, host.UnitPrePivot); err != nil {
		return becomingIdle(fmt.Sprintf("Waiting for %s to stop: %v", host.UnitPrePivot, err)), true
	}
	return becomingIdle(msgBecomingIdle), true
}

// goBack handles an abort that came too late: the node is already on the new network, which
// nobody has proved or wants any more.
func (r *Reconciler) goBack(ctx context.Context, ipc *lcav1.IPConfig, o observation) (outcome, bool) {
	_, tried := ended(ipc.Status.Conditions, lcav1.ConditionRollbackCompleted)
	if tried || isTrue(ipc.Status.Conditions, lcav1.ConditionConfigCompleted) || !o.canReturn() {
		return outcome{}, false
	}
	message := "Returning to the former stateroot, because Idle was requested before the configuration completed"
	unit := o.units[host.UnitRollback]
	if unit.Running() {
		return becomingIdle(message), true
	}
	if unit.Active == "failed" {
		message += "; trying again: " + howItEnded(host.UnitRollback, unit, o.progress.Rollback.Failure) + r.returning.outlook(o.now)
	}
	if err := r.again(ctx, o, &r.returning, host.UnitRollback, "rollback", "--stateroot", o.request.OldStateroot); err != nil {
		return becomingIdle(fmt.Sprintf("%s: %v", message, err)), true
	}
	return becomingIdle(message), true
}

func (r *Reconciler) waitHealthy(ctx context.Context, ipc *lcav1.IPConfig, _ observation) (outcome, bool) {
	problem := r.unhealthy(ctx, ipc, lcav1.SkipPreConfigurationHealthChecksAnnotation)
	if problem == "" {
		return outcome{}, false
	}
	out := becomingIdle(msgStabilizing + problem)
	out.again = whileWaiting
	return out, true
}

// cleanUp has lca-cli remove what is left over, again and again until nothing is.
func (r *Reconciler) cleanUp(ctx context.Context, _ *lcav1.IPConfig, o observation) (outcome, bool) {
	left := o.leftovers()
	if len(left) == 0 {
		return outcome{}, false
	}
	unit, tries := o.units[host.UnitCleanup], &r.cleaning
	pause, outlook := whileRunning, tries.underWay()
	if !unit.Running() {
		if unit.Active == "failed" {
			tries.why = howItEnded(host.UnitCleanup, unit, o.progress.Cleanup.Failure)
		} else if tries.tries > 0 {
			tries.why = "still there: " + strings.Join(left, ", ")
		}
		outlook = tries.outlook(o.now)
		if err := r.again(ctx, o, tries, host.UnitCleanup, "cleanup"); err != nil {
			tries.why = err.Error()
			outlook = tries.outlook(o.now)
		}
		pause = tries.wait(o.now)
	}
	if tries.why == "" {
		return becomingIdle(msgBecomingIdle), true
	}
	return outcome{state: ipconfig.StateBecomingIdle, failed: true, message: cleanupFailed(tries.why, outlook), again: pause}, true
}

func cleanupFailed(failure, outlook string) string {
	return fmt.Sprintf("failed to cleanup: %s. Perform cleanup manually then add '%s' annotation to IPConfig CR to transition back to Idle"+
		" (the agent also keeps trying by itself%s)", failure, lcav1.ManualCleanupAnnotation, outlook)
}
