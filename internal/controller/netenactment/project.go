package netenactment

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// project computes the status of an enactment from the one before, the judgement, and what the node has on record.
func project(before nmstatev1beta1.NodeNetworkConfigurationEnactmentStatus, s *scene, v *view, j judgement, version string,
) nmstatev1beta1.NodeNetworkConfigurationEnactmentStatus {
	after := *before.DeepCopy()
	now := metav1.NewTime(s.now).Rfc3339Copy()
	if v.policy != nil && after.PolicyGeneration != v.policy.Generation {
		after.PolicyGeneration = v.policy.Generation
		after.Failure, after.Plan, after.Drift = nil, nil, nil
	}
	// Heartbeats alone are not written: an idle node writes nothing.
	if set := condition.SetEnactment(before.Conditions, j.state, status.Clip(j.message), now.Time); !condition.Same(
		before.Conditions,
		set,
	) {
		after.Conditions = set
	}
	if v.committed != nil && v.current() {
		after.RevertState = rawYAML(v.committed.Revert)
	}
	if o := v.outcome; o != nil && v.policy != nil && (v.ended(netpolicy.ActionApply) || v.ended(netpolicy.ActionRevert)) {
		projectOutcome(&after, o, version)
	}
	if j.state == condition.Available || j.state == condition.Pending { // a retry keeps the reason of the failure before
		after.Failure = nil
	}
	after.Drift = driftStatus(before.Drift, j, now)
	return after
}

func projectOutcome(after *nmstatev1beta1.NodeNetworkConfigurationEnactmentStatus, o *netpolicy.Outcome, version string) {
	at := nmstatev1beta1.MetaInfo{Version: version, Time: metav1.NewTime(o.Ended).Rfc3339Copy()}
	if o.Document != "" {
		after.DesiredState, after.DesiredStateMetaInfo = rawYAML(o.Document), at
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
	after.Failure = failure(o)
}

func failure(o *netpolicy.Outcome) *nmstatev1beta1.Failure {
	e := o.Evidence
	if o.Result != netpolicy.ResultFailed || e == nil {
		return nil
	}
	f := &nmstatev1beta1.Failure{Phase: e.Phase, Message: status.OneLine(e.Message), Mismatches: mismatches(e.Mismatches),
		RolledBack: e.RolledBack, Time: metav1.NewTime(o.Ended).Rfc3339Copy()}
	if e.Probe != nil {
		f.Probe = &nmstatev1beta1.ProbeResult{Name: e.Probe.Name, Target: e.Probe.Target, Message: e.Probe.Message}
	}
	return f
}

// maxMismatches and maxChanges are limits of the API.
const (
	maxMismatches = 32
	maxChanges    = 256
)

func mismatches(all []netpolicy.Mismatch) (out []nmstatev1beta1.Mismatch) {
	for _, m := range all[:min(len(all), maxMismatches)] {
		out = append(out, nmstatev1beta1.Mismatch{Key: m.Key, Want: m.Want, Got: m.Got})
	}
	return out
}

func driftStatus(before *nmstatev1beta1.Drift, j judgement, now metav1.Time) *nmstatev1beta1.Drift {
	if len(j.drift) == 0 {
		return nil
	}
	d := &nmstatev1beta1.Drift{Since: now, Mismatches: mismatches(j.drift)}
	if before != nil {
		d.Since = before.Since
	}
	return d
}

// rawYAML is a document as the API stores it; nil where it cannot be read.
func rawYAML(text string) *runtime.RawExtension {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil || text == "" {
		return nil
	}
	return &runtime.RawExtension{Raw: data}
}
