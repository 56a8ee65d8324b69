package netenactment

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// drift compares the network with what the policy committed, unless an enactment is changing it. A policy that says so is
// applied again, at growing intervals: another program may fight for the same setting.
func (r *Reconciler) drift(ctx context.Context, s *scene, v *view, j *judgement) {
	if s.request != nil {
		return
	}
	now, err := s.network(ctx)
	if err != nil {
		r.Log.Warn("drift cannot be judged", "policy", v.name, "error", err)
		return
	}
	found, err := netpolicy.Mismatches(v.committed.Document, now)
	if err != nil {
		r.Log.Warn("drift cannot be judged", "policy", v.name, "error", err)
		return
	}
	j.drift = found
	r.Metrics.drifted(v.name, len(found))
	if len(found) == 0 || v.policy.Spec.OnDrift != nmstatev1.OnDriftCorrect {
		return
	}
	if r.mending == nil {
		r.mending = map[string]*nodejob.Backoff{}
	}
	b := r.mending[v.name]
	if b == nil || s.now.Sub(b.Due()) > mendingForgotten {
		b = &nodejob.Backoff{}
		r.mending[v.name] = b
	}
	j.ready, j.action, j.attempt, j.due = true, netpolicy.ActionApply, 1, b.Due()
	if b.Ready(s.now) {
		b.Begin(s.now)
		j.due = s.now
	}
}

// mendingForgotten is how long after a repair a new drift counts as one of its own.
const mendingForgotten = 10 * time.Minute

// announce publishes the events of a change of status.
func (r *Reconciler) announce(
	ctx context.Context,
	s *scene,
	v *view,
	before, after *nmstatev1beta1.NodeNetworkConfigurationEnactment,
	j judgement,
) {
	publish := func(kind, reason, note string) {
		(status.Recorder{Client: r.Client, Log: r.Log}).Publish(ctx, after, status.Event{
			Type: kind, Reason: reason, Action: "Enact", Note: note, At: s.now})
	}
	was, _ := condition.Of(before.Status.Conditions)
	turned := was != j.state
	switch {
	case turned && j.state == condition.Available:
		publish(corev1.EventTypeNormal, "NetworkConfigured", "policy "+v.name+" is in force on node "+r.NodeName)
	case turned && (j.state == condition.Failed || j.state == condition.Retrying):
		publish(corev1.EventTypeWarning, failureReason(v), j.message)
	case r.newlyLost(s, v, j):
		publish(corev1.EventTypeWarning, "NetworkLost", lostMessage(v))
	case turned && j.state == condition.Aborted && v.standing.is == netpolicy.StandingSuperseded:
		publish(corev1.EventTypeWarning, "NetworkSuperseded", j.message)
	}
	r.Metrics.enacted(j.state, turned, v.outcome)
	switch {
	case before.Status.Drift == nil && after.Status.Drift != nil:
		publish(corev1.EventTypeWarning, "NetworkDrift", "something else changed what policy "+v.name+" configured: "+describe(j.drift))
	case before.Status.Drift != nil && after.Status.Drift == nil && j.state == condition.Available:
		publish(corev1.EventTypeNormal, "NetworkRestored", "the network is as policy "+v.name+" configured it")
	}
}

// failureReason of an event: a network that was committed is not reported as rolled back.
func failureReason(v *view) string {
	if v.outcome != nil && v.outcome.Evidence != nil && !v.outcome.Evidence.RolledBack {
		return "NetworkFailed"
	}
	return "NetworkRolledBack"
}

// describe names the first keys that differ.
func describe(all []netpolicy.Mismatch) (text string) {
	for i, m := range all[:min(len(all), 3)] {
		if i > 0 {
			text += "; "
		}
		text += m.String()
	}
	if len(all) > 3 {
		text += "; ..."
	}
	return text
}
