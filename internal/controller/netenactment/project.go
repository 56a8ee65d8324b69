package netenactment

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
)

const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown

// row is the five conditions of a state, in the order Available, Failing, Progressing, Pending, Aborted.
type row struct {
	values [5]metav1.ConditionStatus
	reason string
}

var kinds = [5]string{
	nmstatev1beta1.EnactmentAvailable, nmstatev1beta1.EnactmentFailing, nmstatev1beta1.EnactmentProgressing,
	nmstatev1beta1.EnactmentPending, nmstatev1beta1.EnactmentAborted,
}

// rows is the table of kubernetes-nmstate.
var rows = map[state]row{
	stateProgressing: {[5]metav1.ConditionStatus{unknown, unknown, yes, no, no}, nmstatev1beta1.ReasonConfigurationProgressing},
	stateAvailable:   {[5]metav1.ConditionStatus{yes, no, no, no, no}, nmstatev1beta1.ReasonSuccessfullyConfigured},
	stateRetrying:    {[5]metav1.ConditionStatus{no, yes, yes, no, no}, nmstatev1beta1.ReasonRetrying},
	stateFailing:     {[5]metav1.ConditionStatus{no, yes, no, no, no}, nmstatev1beta1.ReasonFailedToConfigure},
	statePending:     {[5]metav1.ConditionStatus{no, no, no, yes, no}, nmstatev1beta1.ReasonMaxUnavailableLimitReached},
	stateAborted:     {[5]metav1.ConditionStatus{no, no, no, no, yes}, nmstatev1beta1.ReasonConfigurationAborted},
}

// project computes the status of an enactment from the one before, the judgement, and what the node has on record.
func project(before nmstatev1beta1.NodeNetworkConfigurationEnactmentStatus, s *scene, v *view, j judgement, version string,
) nmstatev1beta1.NodeNetworkConfigurationEnactmentStatus {
	after := *before.DeepCopy()
	now := metav1.NewTime(s.now).Rfc3339Copy()
	if v.policy != nil && after.PolicyGeneration != v.policy.Generation {
		after.PolicyGeneration = v.policy.Generation
		after.Failure, after.Plan, after.Drift = nil, nil, nil
	}
	after.Conditions = conditions(before.Conditions, j, now)
	if v.committed != nil && v.current() {
		after.RevertState = rawYAML(v.committed.Revert)
	}
	if o := v.outcome; o != nil && v.policy != nil && (v.ended(netpolicy.ActionApply) || v.ended(netpolicy.ActionRevert)) {
		projectOutcome(&after, o, version)
	}
	if j.state != stateFailing && j.state != stateRetrying {
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

// conditions carries times over: a transition is a change of the status, a heartbeat a change of anything. A condition that
// did not change is not written, so that an idle node writes nothing.
func conditions(before []nmstatev1.Condition, j judgement, now metav1.Time) []nmstatev1.Condition {
	r := rows[j.state]
	after := make([]nmstatev1.Condition, 0, len(kinds))
	for i, kind := range kinds {
		c := nmstatev1.Condition{Type: kind, Status: r.values[i], LastHeartbeatTime: now, LastTransitionTime: now}
		if c.Status != unknown {
			c.Reason = r.reason
		}
		if c.Status == yes {
			c.Message = status.Clip(j.message)
		}
		at := slices.IndexFunc(before, func(b nmstatev1.Condition) bool { return b.Type == kind })
		if at >= 0 && before[at].Status == c.Status {
			c.LastTransitionTime = before[at].LastTransitionTime
			if before[at].Reason == c.Reason && before[at].Message == c.Message {
				c.LastHeartbeatTime = before[at].LastHeartbeatTime
			}
		}
		after = append(after, c)
	}
	return after
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
