package netpolicy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

const (
	normal  = corev1.EventTypeNormal
	warning = corev1.EventTypeWarning
)

// report is what an event was last emitted for.
type report struct {
	generation int64
	outcome    condition.PolicyState
	phase      nmstatev1.RolloutPhase
	conflicts  string
	// unreadable are the MachineConfigs that cannot be read, and why.
	unreadable string
}

// reportStatus writes the status, if it says anything new, and tells changes by events and metrics. Counts may have to wait, as long as it
// returns.
func (r *Reconciler) reportStatus(
	ctx context.Context,
	policy *nmstatev1.NodeNetworkConfigurationPolicy,
	seen *observation,
	d rollout.Decision,
	conflicts []nmstatev1.Conflict,
) (wait time.Duration, err error) {
	outcome, message := d.Counts.Outcome()
	after := policy.DeepCopy()
	r.projectStatus(after, d, outcome, message, conflicts)
	r.Metrics.showPolicy(policy.Name, outcome, after.Status.Rollout)
	now := report{generation: policy.Generation, outcome: outcome, phase: d.Phase, unreadable: joinDistinct(seen.unreadable)}
	if len(conflicts) > 0 {
		now.conflicts = summarizeConflicts(conflicts)
	}
	if !sameButHeartbeats(policy.Status, after.Status) {
		if countsAlone(policy, after.Status, now) {
			wait = r.pace.waitForCounts(policy.UID, d.Counts.Nodes, r.Now())
		}
		if wait <= 0 {
			err = r.writeStatus(ctx, policy, after)
		}
	}
	if err == nil {
		r.emitChanges(policy, seen, now, d, message)
	}
	return wait, err
}

func (r *Reconciler) writeStatus(ctx context.Context, policy, after *nmstatev1.NodeNetworkConfigurationPolicy) error {
	// Conditions are one list, to which the controller of MachineConfigs adds.
	patch := client.MergeFromWithOptions(policy, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, after, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of policy %s: %w", policy.Name, err)
	}
	r.pace.recordWrite(policy.UID, r.Now())
	if after.Status.Rollout == nil {
		r.foreign.Do(func() { r.Log.Info("kubernetes-nmstate's definitions are installed: fields beyond them are not kept") })
	}
	return nil
}

// projectStatus computes the status. It is the only place that does.
func (r *Reconciler) projectStatus(
	policy *nmstatev1.NodeNetworkConfigurationPolicy,
	d rollout.Decision,
	outcome condition.PolicyState,
	message string,
	conflicts []nmstatev1.Conflict,
) {
	s, now := &policy.Status, r.Now()
	if d.Phase != nmstatev1.PhaseStandby { // the handler of kubernetes-nmstate writes them
		s.Conditions = condition.SetPolicy(s.Conditions, outcome, message, now)
	}
	conflicting := nmstatev1.Condition{Type: nmstatev1.PolicyConflicting}
	if len(conflicts) > 0 {
		conflicting.Status, conflicting.Reason = metav1.ConditionTrue, nmstatev1.ReasonConflictingPolicies
		conflicting.Message = summarizeConflicts(conflicts)
	}
	s.Conditions = condition.Put(s.Conditions, conflicting, now)
	if d.Phase != nmstatev1.PhaseStandby {
		s.Conditions = condition.Summarize(s.Conditions, now)
	}
	s.Conflicts = conflicts
	c := d.Counts
	start := startTime(policy, d, now)
	s.ObservedGeneration = policy.Generation
	s.Rollout = &nmstatev1.RolloutStatus{
		Phase: d.Phase, Message: d.Message, Nodes: c.Nodes, Configured: c.Available, Failed: c.Failed,
		Aborted: c.Aborted + len(d.Abort), Granted: c.Started + len(d.Grant), NotReady: c.NotReady,
		MaxUnavailable: c.MaxUnavailable, StartTime: start,
	}
}

// startTime is when the first node of the generation was granted.
func startTime(policy *nmstatev1.NodeNetworkConfigurationPolicy, d rollout.Decision, now time.Time) *metav1.Time {
	if before := policy.Status.Rollout; before != nil && policy.Status.ObservedGeneration == policy.Generation && before.StartTime != nil {
		return before.StartTime
	}
	if len(d.Grant) == 0 {
		return nil
	}
	at := metav1.NewTime(now)
	return &at
}

// sameButHeartbeats reports that two statuses differ in heartbeats at most.
func sameButHeartbeats(a, b nmstatev1.NodeNetworkConfigurationPolicyStatus) bool {
	same := condition.Same(a.Conditions, b.Conditions)
	a.Conditions, b.Conditions = nil, nil
	return same && equality.Semantic.DeepEqual(a, b)
}

// emitChanges emits an event for each change of phase, outcome and conflicts.
func (r *Reconciler) emitChanges(
	policy *nmstatev1.NodeNetworkConfigurationPolicy, seen *observation, now report, d rollout.Decision, message string,
) {
	r.mu.Lock()
	before, known := r.reported[policy.UID]
	r.reported[policy.UID] = now
	r.mu.Unlock()
	if !known {
		before = reportedIn(policy)
		before.unreadable = seen.toldUnreadable()
	}
	if len(d.Grant) > 0 {
		r.emitEvent(policy, normal, "Granted", "Grant", "nodes may start: "+abbreviateNames(d.Grant))
	}
	if len(d.Adopt) > 0 {
		r.emitEvent(policy, normal, "Adopted", "Grant", "nodes are configured already: "+abbreviateNames(d.Adopt))
	}
	if len(d.Abort) > 0 {
		r.emitEvent(policy, warning, "Aborted", "Abort", "nodes will not start: "+abbreviateNames(d.Abort))
	}
	if now.phase != before.phase || now.generation != before.generation {
		r.emitEvent(policy, severityOf(now.phase), string(now.phase), "RollOut", orElse(d.Message, message))
	}
	if now.outcome != before.outcome {
		r.emitOutcome(policy, now.outcome, message)
	}
	if now.unreadable != before.unreadable && now.unreadable != "" {
		r.emitEvent(policy, warning, "MachineConfigUnreadable", "Read", now.unreadable)
	}
	if now.conflicts != before.conflicts && now.conflicts != "" {
		r.emitEvent(policy, warning, nmstatev1.ReasonConflictingPolicies, "Compare", now.conflicts)
	}
}

// joinDistinct joins the different texts, in an order of their own.
func joinDistinct(texts map[string]string) string {
	return strings.Join(slices.Compact(slices.Sorted(maps.Values(texts))), "; ")
}

// toldUnreadable is what the enactments of these nodes were reported before.
func (o *observation) toldUnreadable() string {
	reported := map[string]string{}
	for node := range o.unreadable {
		if e := o.enactments[node]; e != nil && e.Annotations[v1beta1.NetworkReasonAnnotation] != "" {
			reported[node] = e.Annotations[v1beta1.NetworkReasonAnnotation]
		}
	}
	return joinDistinct(reported)
}

// emitOutcome tells a change of the policy's state, under kubernetes-nmstate's name of the event where there is one.
func (r *Reconciler) emitOutcome(policy *nmstatev1.NodeNetworkConfigurationPolicy, outcome condition.PolicyState, message string) {
	switch outcome {
	case condition.PolicyFailed:
		r.emitEvent(policy, warning, "ReconcileFailed", "RollOut", message)
	case condition.PolicyAvailable:
		r.emitEvent(policy, normal, nmstatev1.ReasonSuccessfullyConfigured, "RollOut", message)
		if ro := policy.Status.Rollout; ro != nil && ro.StartTime != nil {
			r.Metrics.duration.Observe(r.Now().Sub(ro.StartTime.Time).Seconds())
		}
	case condition.PolicyIgnored:
		r.emitEvent(policy, normal, nmstatev1.ReasonNoMatchingNode, "RollOut", message)
	default: // no event before the outcome is known
	}
}

// reportedIn is what the status says was reported, for a process that starts.
func reportedIn(policy *nmstatev1.NodeNetworkConfigurationPolicy) report {
	was := report{generation: policy.Status.ObservedGeneration}
	if ro := policy.Status.Rollout; ro != nil {
		was.phase = ro.Phase
	}
	for _, c := range policy.Status.Conditions {
		if c.Status != metav1.ConditionTrue {
			continue
		}
		switch c.Type {
		case nmstatev1.PolicyAvailable:
			was.outcome = condition.PolicyAvailable
		case nmstatev1.PolicyDegraded:
			was.outcome = condition.PolicyFailed
		case nmstatev1.PolicyProgressing:
			was.outcome = condition.PolicyProgressing
		case nmstatev1.PolicyIgnored:
			was.outcome = condition.PolicyIgnored
		case nmstatev1.PolicyConflicting:
			was.conflicts = c.Message
		}
	}
	return was
}

func severityOf(phase nmstatev1.RolloutPhase) string {
	switch phase {
	case nmstatev1.PhasePaused, nmstatev1.PhaseAborted, nmstatev1.PhaseStandby:
		return warning
	default: // the roll-out goes on
	}
	return normal
}

func (r *Reconciler) emitEvent(on runtime.Object, severity, reason, action, note string) {
	r.Events.Eventf(on, nil, severity, reason, action, "%s", status.ClipNote(note))
}

func abbreviateNames(names []string) string {
	if len(names) > 10 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:10], ", "), len(names)-10)
	}
	return strings.Join(names, ", ")
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
