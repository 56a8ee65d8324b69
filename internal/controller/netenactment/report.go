package netenactment

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// reportPolicy writes the enactment of a policy, or removes it.
func (r *Reconciler) reportPolicy(ctx context.Context, s *observation, v *policyView, j decision) error {
	if j.state == stateRemoved {
		return r.dropPolicy(ctx, v)
	}
	if r.refused.holdsBack(v, s.now) > 0 {
		return nil
	}
	if v.enactment == nil {
		if v.policy == nil || !v.policy.DeletionTimestamp.IsZero() && v.committed == nil {
			return nil
		}
		if err := r.createEnactment(ctx, s, v); err != nil {
			return err
		}
	}
	after := v.enactment.DeepCopy()
	after.Status = projectStatus(v.enactment.Status, s, v, j, r.Version)
	if j.state == condition.Pending && after.Status.Plan == nil && v.policy.DeletionTimestamp.IsZero() {
		after.Status.Plan = r.planChanges(ctx, s, v)
	}
	if equality.Semantic.DeepEqual(v.enactment.Status, after.Status) {
		r.refused.forgetRefusal(v)
		return nil
	}
	before := v.enactment.DeepCopy()
	if err := status.Patch(ctx, r.Client, before, after); err != nil {
		return r.latest.LearnFromRefusal(ctx, r.Reader, before, err, r.Now())
	}
	r.refused.forgetRefusal(v)
	r.latest.Keep(after, s.now)
	r.publishEvents(ctx, s, v, before, after, j)
	return nil
}

// createEnactment makes the enactment of a policy. The Node owns it: it goes with the Node, and with the policy by this agent.
func (r *Reconciler) createEnactment(ctx context.Context, s *observation, v *policyView) error {
	e := &nmstatev1beta1.NodeNetworkConfigurationEnactment{ObjectMeta: metav1.ObjectMeta{
		Name:   nmstatev1beta1.EnactmentName(r.NodeName, v.name),
		Labels: map[string]string{nmstatev1.PolicyLabel: v.name, nmstatev1.NodeLabel: r.NodeName},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node", Name: s.node.Name, UID: s.node.UID,
		}},
	}}
	if err := r.Client.Create(ctx, e); err != nil {
		return r.latest.LearnFromRefusal(ctx, r.Reader, e, fmt.Errorf("create enactment %s: %w", e.Name, err), r.Now())
	}
	v.enactment = e
	r.latest.Keep(e, s.now)
	return nil
}

// dropPolicy forgets a policy that is not for this node any more. The record goes first: while the enactment exists, a restart
// comes back here.
func (r *Reconciler) dropPolicy(ctx context.Context, v *policyView) error {
	if v.committed != nil {
		if err := (record.Store{Files: r.Node.Files}).Forget(v.name); err != nil {
			return err
		}
	}
	if v.outcome != nil {
		if err := netpolicy.ForgetOutcome(r.Node.Files, v.name); err != nil {
			return err
		}
	}
	if r.Metrics != nil {
		r.Metrics.drift.DeleteLabelValues(v.name)
	}
	delete(r.corrections, v.name)
	delete(r.differsSince, v.name)
	delete(r.reportedLost, v.name)
	delete(r.changedSince, v.name)
	if v.enactment == nil {
		return nil
	}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, v.enactment)); err != nil {
		return fmt.Errorf("delete enactment %s: %w", v.enactment.Name, err)
	}
	r.latest.KeepDeleted(client.ObjectKeyFromObject(v.enactment), v.enactment.UID, r.Now())
	return nil
}

// planChanges shows what the policy would change; nil where that cannot be told, which the enactment itself then explains.
func (r *Reconciler) planChanges(ctx context.Context, s *observation, v *policyView) *nmstatev1beta1.Plan {
	now, err := s.observeNetwork(ctx)
	if err != nil {
		r.Log.Warn("a plan cannot be made", "policy", v.name, "error", err)
		return nil
	}
	request, missing, err := r.buildRequest(s, v, decision{action: netpolicy.ActionApply, attempt: 1})
	if err != nil || missing != "" {
		return nil
	}
	p, err := netpolicy.Assess(request, now)
	if err != nil {
		return nil
	}
	out := &nmstatev1beta1.Plan{Time: metav1.NewTime(s.now).Rfc3339Copy(), TouchesPrimary: p.TouchesUplink,
		Omitted: max(len(p.Changes)-maxChanges, 0)}
	for _, c := range p.Changes[:min(len(p.Changes), maxChanges)] {
		out.Changes = append(out.Changes, nmstatev1beta1.Change{Key: c.Key, From: c.From, To: c.To})
	}
	if len(p.Changes) == 0 {
		out.Disruption = nmstatev1beta1.DisruptionNone
	}
	return out
}

// projectStatus computes the status of an enactment from the one before, the decision, and what the node has on record.
func projectStatus(before nmstatev1beta1.NodeNetworkConfigurationEnactmentStatus, s *observation, v *policyView, j decision, version string,
) nmstatev1beta1.NodeNetworkConfigurationEnactmentStatus {
	after := *before.DeepCopy()
	now := metav1.NewTime(s.now).Rfc3339Copy()
	if v.policy != nil && after.PolicyGeneration != v.policy.Generation {
		after.PolicyGeneration = v.policy.Generation
		after.Failure, after.Plan, after.Drift = nil, nil, nil
	}
	// Heartbeats alone are not written: an idle node writes nothing.
	set := condition.SetEnactment(before.Conditions, j.state, status.Clip(j.message), now.Time)
	if j.state == condition.Pending {
		set = condition.SetPending(before.Conditions, j.reason, status.Clip(j.message), now.Time)
	}
	if set = condition.Summarize(set, now.Time); !condition.Same(before.Conditions, set) {
		after.Conditions = set
	}
	if v.committed != nil && v.isCurrent() {
		after.RevertState = rawYAML(v.committed.Revert)
	}
	if o := v.outcome; o != nil && v.policy != nil && (v.hasEnded(netpolicy.ActionApply) || v.hasEnded(netpolicy.ActionRevert)) {
		projectOutcome(&after, o, version)
	}
	if j.state == condition.Available || j.state == condition.Pending { // a retry keeps the reason of the failure before
		after.Failure = nil
	}
	after.Drift = nil
	if len(j.drift) > 0 {
		after.Drift = &nmstatev1beta1.Drift{Since: now, Mismatches: apiMismatches(j.drift)}
		if before.Drift != nil {
			after.Drift.Since = before.Drift.Since
		}
	}
	return after
}

func projectOutcome(after *nmstatev1beta1.NodeNetworkConfigurationEnactmentStatus, o *netpolicy.Outcome, version string) {
	at := nmstatev1beta1.MetaInfo{Version: version, Time: metav1.NewTime(o.Ended).Rfc3339Copy()}
	if o.Document != "" {
		after.DesiredState, after.DesiredStateMetaInfo = rawYAML(o.ShownDocument()), at
	}
	if len(o.Captured) > 0 {
		after.CapturedStates = map[string]nmstatev1beta1.CapturedState{}
		for name, text := range o.Captured {
			after.CapturedStates[name] = nmstatev1beta1.CapturedState{State: rawYAML(text), MetaInfo: at}
		}
	}
	after.RetryCount = nil
	if o.Attempt > 1 || o.Result == netpolicy.ResultFailed {
		after.RetryCount = map[string]int{strconv.FormatInt(o.Generation, 10): o.Attempt}
	}
	after.Failure = nil
	if e := o.Evidence; o.Result == netpolicy.ResultFailed && e != nil {
		after.Failure = &nmstatev1beta1.Failure{Phase: e.Phase, Message: status.OneLine(e.Message), Mismatches: apiMismatches(e.Mismatches),
			RolledBack: e.RolledBack, Time: at.Time}
		if e.Probe != nil {
			after.Failure.Probe = &nmstatev1beta1.ProbeResult{Name: e.Probe.Name, Target: e.Probe.Target, Message: e.Probe.Message}
		}
	}
}

// maxMismatches and maxChanges are limits of the API.
const (
	maxMismatches = 32
	maxChanges    = 256
)

func apiMismatches(all []netpolicy.Mismatch) (out []nmstatev1beta1.Mismatch) {
	for _, m := range all[:min(len(all), maxMismatches)] {
		out = append(out, nmstatev1beta1.Mismatch{Key: m.Key, Want: m.Want, Got: m.Got})
	}
	return out
}

// rawYAML is a document as the API stores it; nil where it cannot be read.
func rawYAML(text string) *runtime.RawExtension {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil || text == "" {
		return nil
	}
	return &runtime.RawExtension{Raw: data}
}

// publishEvents publishes the events of a change of status.
func (r *Reconciler) publishEvents(
	ctx context.Context,
	s *observation,
	v *policyView,
	before, after *nmstatev1beta1.NodeNetworkConfigurationEnactment,
	j decision,
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
		reason := "NetworkRolledBack"
		if v.outcome != nil && v.outcome.Evidence != nil && !v.outcome.Evidence.RolledBack {
			reason = "NetworkFailed" // it was committed
		}
		publish(corev1.EventTypeWarning, reason, j.message)
	case r.newlyLost(s, v, j):
		publish(corev1.EventTypeWarning, "NetworkLost", messageLost+listMismatches(v.compared.differ))
	case turned && j.state == condition.Aborted && v.compared.is == netpolicy.StandingSuperseded:
		publish(corev1.EventTypeWarning, "NetworkSuperseded", j.message)
	}
	r.Metrics.countEnactment(j.state, turned, v.outcome)
	switch {
	case before.Status.Drift == nil && after.Status.Drift != nil:
		publish(corev1.EventTypeWarning, "NetworkDrift",
			"something else changed what policy "+v.name+" configured: "+listMismatches(j.drift))
	case before.Status.Drift != nil && after.Status.Drift == nil && j.state == condition.Available:
		publish(corev1.EventTypeNormal, "NetworkRestored", "the network is as policy "+v.name+" configured it")
	}
}

// listMismatches names the first keys that differ.
func listMismatches(all []netpolicy.Mismatch) (text string) {
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
