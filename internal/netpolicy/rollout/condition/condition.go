// Package condition is the table of the conditions of network policies and enactments: kubernetes-nmstate's types, reasons and
// combinations. Agent and operator both set conditions by a state of this table, and read the state from them.
//
// It imports the API types only.
package condition

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
)

// State of an enactment.
type State string

// States of an enactment. Unknown has no conditions yet.
const (
	Unknown     State = ""
	Pending     State = "Pending"
	Progressing State = "Progressing"
	Retrying    State = "Retrying"
	Failed      State = "Failed"
	Available   State = "Available"
	Aborted     State = "Aborted"
)

// PolicyState is the state of a policy.
type PolicyState string

// States of a policy.
const (
	PolicyUnknown     PolicyState = ""
	PolicyProgressing PolicyState = "Progressing"
	PolicyAvailable   PolicyState = "Available"
	PolicyFailed      PolicyState = "Failed"
	PolicyIgnored     PolicyState = "Ignored"
)

// Messages of kubernetes-nmstate for states that need no other.
const (
	MessageProgressing = "Applying desired state"
	MessageAvailable   = "successfully reconciled"
	MessagePending     = "Waiting for progressing nodes to finish"
	MessageAborted     = "Configuration is aborted: too many nodes of the policy failed"
)

const (
	yes   = metav1.ConditionTrue
	no    = metav1.ConditionFalse
	maybe = metav1.ConditionUnknown
)

// row is the statuses of one state, in the order of the types. The message is that of every condition that is True.
type row struct {
	reason   string
	statuses []metav1.ConditionStatus
	// reasons by type, where one differs from the state's.
	reasons map[string]string
}

var enactmentTypes = []string{
	v1beta1.EnactmentAvailable, v1beta1.EnactmentFailing, v1beta1.EnactmentProgressing, v1beta1.EnactmentPending, v1beta1.EnactmentAborted,
}

// Available, Failing, Progressing, Pending, Aborted
var enactments = map[State]row{
	Unknown:     {"", []metav1.ConditionStatus{maybe, maybe, maybe, maybe, maybe}, nil},
	Progressing: {v1beta1.ReasonConfigurationProgressing, []metav1.ConditionStatus{maybe, maybe, yes, no, no}, nil},
	Available:   {v1beta1.ReasonSuccessfullyConfigured, []metav1.ConditionStatus{yes, no, no, no, no}, nil},
	Retrying:    {v1beta1.ReasonRetrying, []metav1.ConditionStatus{no, yes, yes, no, no}, nil},
	Failed:      {v1beta1.ReasonFailedToConfigure, []metav1.ConditionStatus{no, yes, no, no, no}, nil},
	Pending:     {v1beta1.ReasonMaxUnavailableLimitReached, []metav1.ConditionStatus{no, no, no, yes, no}, nil},
	Aborted:     {v1beta1.ReasonConfigurationAborted, []metav1.ConditionStatus{no, no, no, no, yes}, nil},
}

var policyTypes = []string{nmstatev1.PolicyAvailable, nmstatev1.PolicyDegraded, nmstatev1.PolicyProgressing, nmstatev1.PolicyIgnored}

// Available, Degraded, Progressing, Ignored
var policies = map[PolicyState]row{
	PolicyUnknown:     {"", []metav1.ConditionStatus{maybe, maybe, maybe, maybe}, nil},
	PolicyProgressing: {nmstatev1.ReasonConfigurationProgressing, []metav1.ConditionStatus{maybe, maybe, yes, no}, nil},
	PolicyAvailable:   {nmstatev1.ReasonSuccessfullyConfigured, []metav1.ConditionStatus{yes, no, no, no}, nil},
	PolicyFailed: {nmstatev1.ReasonFailedToConfigure, []metav1.ConditionStatus{no, yes, no, no},
		map[string]string{nmstatev1.PolicyProgressing: nmstatev1.ReasonConfigurationProgressing}}, // as kubernetes-nmstate has it
	PolicyIgnored: {nmstatev1.ReasonNoMatchingNode, []metav1.ConditionStatus{no, no, no, yes}, nil},
}

// SetEnactment returns the conditions of an enactment in a state; have are those before. The message is that of the True ones.
func SetEnactment(have []nmstatev1.Condition, state State, message string, now time.Time) []nmstatev1.Condition {
	return setConditions(have, enactmentTypes, enactments[state], message, now)
}

// SetPending returns the conditions of an enactment that is Pending for a reason of its own; an empty one is the table's.
func SetPending(have []nmstatev1.Condition, reason, message string, now time.Time) []nmstatev1.Condition {
	r := enactments[Pending]
	if reason != "" {
		r.reason = reason
	}
	return setConditions(have, enactmentTypes, r, message, now)
}

// SetPolicy returns the conditions of a policy in a state. Conditions of other types stay.
func SetPolicy(have []nmstatev1.Condition, state PolicyState, message string, now time.Time) []nmstatev1.Condition {
	return setConditions(have, policyTypes, policies[state], message, now)
}

// Summarize sets the conditions that sum an object up, from the others: a policy in conflict, one that failed or was refused, an
// enactment that is not tried again and one that was aborted are Stalled; what is not there yet is Reconciling.
func Summarize(have []nmstatev1.Condition, now time.Time) []nmstatev1.Condition {
	kind, of := summaryOf(have)
	for _, other := range []string{lcav1.ConditionReconciling, lcav1.ConditionStalled} {
		c := nmstatev1.Condition{Type: other}
		if other == kind {
			c.Status, c.Reason, c.Message = yes, of.Reason, of.Message
		}
		have = Put(have, c, now)
	}
	return have
}

func summaryOf(have []nmstatev1.Condition) (kind string, of nmstatev1.Condition) {
	is := func(name string, s metav1.ConditionStatus) bool {
		i := slices.IndexFunc(have, func(c nmstatev1.Condition) bool { return c.Type == name && c.Status == s })
		if i >= 0 {
			of = have[i]
		}
		return i >= 0
	}
	switch {
	case is(nmstatev1.PolicyConflicting, yes), is(nmstatev1.PolicyDegraded, yes), is(nmstatev1.PolicyAccepted, no),
		is(v1beta1.EnactmentAborted, yes):
		return lcav1.ConditionStalled, of
	case is(nmstatev1.PolicyProgressing, yes), is(v1beta1.EnactmentPending, yes):
		return lcav1.ConditionReconciling, of
	case is(v1beta1.EnactmentFailing, yes):
		return lcav1.ConditionStalled, of
	case is(nmstatev1.PolicyAvailable, yes), is(nmstatev1.PolicyIgnored, yes), is(nmstatev1.PolicyAccepted, yes):
		return "", of
	}
	return lcav1.ConditionReconciling, nmstatev1.Condition{Reason: "NotReported", Message: "No node has reported yet"}
}

// Of reads the state of an enactment, and since when it lasts.
func Of(conditions []nmstatev1.Condition) (State, time.Time) {
	is := func(kind string) (time.Time, bool) {
		i := slices.IndexFunc(conditions, func(c nmstatev1.Condition) bool { return c.Type == kind && c.Status == yes })
		if i < 0 {
			return time.Time{}, false
		}
		return conditions[i].LastTransitionTime.Time, true
	}
	failing, isFailing := is(v1beta1.EnactmentFailing)
	progressing, isProgressing := is(v1beta1.EnactmentProgressing)
	switch {
	case isFailing && isProgressing:
		return Retrying, failing
	case isFailing:
		return Failed, failing
	case isProgressing:
		return Progressing, progressing
	}
	for _, s := range []State{Available, Aborted, Pending} {
		if since, is := is(string(s)); is {
			return s, since
		}
	}
	return Unknown, time.Time{}
}

// Put sets one condition beside those of the table; status "" removes it.
func Put(have []nmstatev1.Condition, c nmstatev1.Condition, now time.Time) []nmstatev1.Condition {
	if c.Status == "" {
		return slices.DeleteFunc(slices.Clone(have), func(o nmstatev1.Condition) bool { return o.Type == c.Type })
	}
	out := slices.Clone(have)
	i := slices.IndexFunc(out, func(o nmstatev1.Condition) bool { return o.Type == c.Type })
	if i < 0 {
		out, i = append(out, nmstatev1.Condition{Type: c.Type}), len(out)
	}
	if out[i].Status != c.Status {
		c.LastTransitionTime = metav1.NewTime(now)
	} else {
		c.LastTransitionTime = out[i].LastTransitionTime
	}
	c.LastHeartbeatTime = metav1.NewTime(now)
	out[i] = c
	return out
}

// Same reports that two lists differ in heartbeats at most, so that a write would say nothing new.
func Same(a, b []nmstatev1.Condition) bool {
	return slices.EqualFunc(a, b, func(x, y nmstatev1.Condition) bool {
		return x.Type == y.Type && x.Status == y.Status && x.Reason == y.Reason && x.Message == y.Message
	})
}

func setConditions(have []nmstatev1.Condition, types []string, r row, message string, now time.Time) []nmstatev1.Condition {
	out := slices.Clone(have)
	for i, kind := range types {
		c := nmstatev1.Condition{Type: kind, Status: r.statuses[i], Reason: r.reason}
		if other, differs := r.reasons[kind]; differs {
			c.Reason = other
		}
		if c.Status == yes {
			c.Message = message
		}
		out = Put(out, c, now)
	}
	return out
}
