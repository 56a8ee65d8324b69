package ipconfig

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// bringToIdle brings the node to rest: what still runs is aborted, the cluster is healthy, leftovers of the operation are removed.
func (r *Reconciler) bringToIdle(ctx context.Context, ipc *lcav1.IPConfig, o observation, state ipconfig.State) (outcome, error) {
	if state == ipconfig.StateIdle {
		if err := r.prefetchImage(ctx, ipc, o); err != nil { // a convenience that blocks nothing
			r.publishEvent(ctx, ipc, imageNotCached(r.recertImage(ipc), err.Error(), o.now))
		}
		if err := r.rehearseChange(ctx, ipc, o); err != nil {
			return outcome{}, err
		}
		return outcome{state: state, message: o.idleMessage(), again: atRest}, nil
	}
	if blocked, err := r.nodeTaken(ctx, o); blocked != nil || err != nil {
		return blockedBy(blocked), err
	}
	for _, step := range []func(context.Context, *lcav1.IPConfig, observation) (outcome, bool){
		r.abortPrePivot, r.rollBackUnconfirmed, r.awaitHealth, r.cleanUp,
	} {
		if out, wait := step(ctx, ipc, o); wait {
			return out, nil
		}
	}
	r.cleaning.Reset()
	for _, file := range []string{ipconfig.SavedObjectFile, ipconfig.AcceptedFile} {
		if err := r.Node.Files.Remove(file); err != nil {
			return outcome{}, fmt.Errorf("remove %s: %w", file, err)
		}
	}
	return outcome{state: ipconfig.StateIdle, message: o.idleMessage(), again: atRest}, nil
}

// idleMessage names what a cleanup could not remove. It takes room, and keeps the node from nothing.
func (o observation) idleMessage() string {
	message := msgIdle
	for _, root := range slices.Sorted(maps.Keys(o.remains)) {
		message += fmt.Sprintf("; stateroot %s could not be removed whole, and the next cleanup tries again: %s", root, o.remains[root])
	}
	return status.Clip(status.OneLine(message))
}

func becomingIdle(message string) outcome {
	return outcome{state: ipconfig.StateBecomingIdle, message: message, again: whileRunning}
}

// stopTimeout is how long one reconciliation waits for lca-cli to undo its work; the next one continues to wait.
const stopTimeout = 30 * time.Second

// abortPrePivot stops a pre-pivot before its commit point; lca-cli then undoes everything. After it the reboot is imminent.
func (r *Reconciler) abortPrePivot(ctx context.Context, _ *lcav1.IPConfig, o observation) (outcome, bool) {
	if !o.inOld() || o.hasReturned() || !o.units[ipconfig.UnitPrePivot].Running() {
		return outcome{}, false
	}
	if o.progress.PrePivot.Committed {
		return becomingIdle("Waiting for the reboot in progress"), true
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := r.Node.Units.Stop(ctx, ipconfig.UnitPrePivot); err != nil {
		return becomingIdle(fmt.Sprintf("Waiting for %s to stop: %v", ipconfig.UnitPrePivot, err)), true
	}
	return becomingIdle(msgBecomingIdle), true
}

// rollBackUnconfirmed handles an abort that came too late: the new stateroot runs, and neither was the change confirmed nor
// is it wanted any more. A confirmed change, and one whose cleanup has begun, is kept.
func (r *Reconciler) rollBackUnconfirmed(ctx context.Context, ipc *lcav1.IPConfig, o observation) (outcome, bool) {
	rollbackEnded := meta.FindStatusCondition(ipc.Status.Conditions, lcav1.ConditionRollbackCompleted) != nil
	if rollbackEnded || o.isConfirmed(ipc) || o.progress.Cleanup.Begun || !o.canRollBack() {
		return outcome{}, false
	}
	message := "Rolling back to the previous stateroot, because Idle was requested before the configuration completed"
	unit := o.units[ipconfig.UnitRollback]
	if unit.Running() {
		return becomingIdle(message), true
	}
	if unit.Active == "failed" {
		ended := nodejob.HowItEnded(ipconfig.UnitRollback, unit, o.progress.Rollback.Failure)
		message += "; retrying: " + ended + r.returning.Outlook(o.now)
	}
	if err := r.retryRollback(ctx, o); err != nil {
		message += ": " + err.Error()
	}
	return becomingIdle(message), true
}

func (r *Reconciler) awaitHealth(ctx context.Context, ipc *lcav1.IPConfig, _ observation) (outcome, bool) {
	blocked := r.blockUnhealthy(ctx, ipc, lcav1.SkipPreConfigurationHealthChecksAnnotation)
	if blocked == nil {
		return outcome{}, false
	}
	out := becomingIdle(blocked.String())
	out.again = whileWaiting
	return out, true
}

// cleanUp has lca-cli remove the leftovers, and retries until there are none.
func (r *Reconciler) cleanUp(ctx context.Context, _ *lcav1.IPConfig, o observation) (outcome, bool) {
	left := o.leftovers()
	if len(left) == 0 {
		return outcome{}, false
	}
	unit, tries := o.units[ipconfig.UnitCleanup], &r.cleaning
	pause, outlook := whileRunning, tries.InProgress()
	if !unit.Running() {
		if unit.Active == "failed" {
			tries.Failure = nodejob.HowItEnded(ipconfig.UnitCleanup, unit, o.progress.Cleanup.Failure)
		} else if tries.Begun() {
			tries.Failure = "not removed: " + strings.Join(left, ", ")
		}
		outlook = tries.Outlook(o.now)
		if err := r.retryJob(ctx, o, tries, cliJob(ipconfig.UnitCleanup, "cleanup")); err != nil {
			tries.Failure = err.Error()
			outlook = tries.Outlook(o.now)
		}
		pause = tries.Wait(o.now)
	}
	if tries.Failure == "" {
		return becomingIdle(msgBecomingIdle), true
	}
	return outcome{state: ipconfig.StateBecomingIdle, failed: true, message: cleanupFailed(tries.Failure, outlook), again: pause}, true
}

func cleanupFailed(failure, outlook string) string {
	return fmt.Sprintf("failed to cleanup: %s. Perform cleanup manually then add '%s' annotation to IPConfig CR to transition back to Idle"+
		" (the agent also keeps retrying%s)", failure, lcav1.ManualCleanupAnnotation, outlook)
}

// prefetchImage has lca-cli fetch the image that was chosen for recert while the node is at rest: at the time of a change no
// registry may be reachable. An annotation reports the image that is on the node; a change does not rely on it.
func (r *Reconciler) prefetchImage(ctx context.Context, ipc *lcav1.IPConfig, o observation) error {
	have, want := bringup.CachedImage(r.Node.Files), r.recertImage(ipc)
	if have != "" && have == want {
		r.fetching.Reset()
	}
	if have != "" && ipc.Annotations[lcav1.RecertImageCachedAnnotation] != have {
		return r.reportCached(ctx, ipc, have)
	}
	if want == "" || want == have {
		return nil
	}
	if problem := bringup.CheckImage(want); problem != nil {
		return nil //nolint:nilerr // a change is refused for it, with this sentence; at rest there is nothing to fetch
	}
	unit, err := r.Node.Units.State(ctx, ipconfig.UnitRecertImage)
	if err != nil {
		return fmt.Errorf("observe %s: %w", ipconfig.UnitRecertImage, err)
	}
	if unit.Running() || !r.fetching.Ready(o.now) {
		return nil
	}
	if unit.Active == "failed" {
		r.publishEvent(ctx, ipc, imageNotCached(want, nodejob.HowItEnded(ipconfig.UnitRecertImage, unit, ""), o.now))
	}
	if err := r.InstallCLI.Install(); err != nil {
		return fmt.Errorf("install lca-cli: %w", err)
	}
	argv := []string{"fetch-recert-image", "--image", want}
	if secret := ipc.Annotations[lcav1.RecertPullSecretAnnotation]; secret != "" {
		argv = append(argv, "--pull-secret", secret)
	}
	return r.retryJob(ctx, o, &r.fetching, cliJob(ipconfig.UnitRecertImage, argv...))
}

// reportCached writes the annotation.
func (r *Reconciler) reportCached(ctx context.Context, ipc *lcav1.IPConfig, image string) error {
	base := ipc.DeepCopy()
	if ipc.Annotations == nil {
		ipc.Annotations = map[string]string{}
	}
	ipc.Annotations[lcav1.RecertImageCachedAnnotation] = image
	if err := r.Client.Patch(ctx, ipc, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("annotate ipconfig %s with the cached image: %w", ipc.Name, err)
	}
	return nil
}
