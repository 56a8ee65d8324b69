package netenactment

import (
	"fmt"
	"time"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// stateRemoved: the policy is not for this node (any more), and its enactment goes.
const stateRemoved condition.State = "Removed"

const (
	// maxAttempts is how often a node tries one generation of a policy, as kubernetes-nmstate does.
	maxAttempts = 5
	// The pause before the second attempt, which doubles with each, and its limit.
	firstRetry = time.Second
	maxRetry   = 30 * time.Second
)

// judgement is the state of one policy and what may be done about it.
type judgement struct {
	state   condition.State
	message string
	// ready says that an enactment with this action may start, from due on.
	ready   bool
	action  string
	attempt int
	due     time.Time
	drift   []netpolicy.Mismatch
}

// judge derives the state of a policy. Its order matters: what runs comes first, then what has ended.
func judge(v *view, s *scene) judgement {
	if s.request != nil && s.request.Policy == v.name {
		return judgement{state: condition.Progressing, message: progress(s)}
	}
	if v.policy == nil || !v.policy.DeletionTimestamp.IsZero() || !s.selected(v) {
		return judgeLeaving(v)
	}
	switch {
	case v.undone():
		return judgement{
			state: condition.Aborted,
			message: fmt.Sprintf("Undone on the node by operation %s; edit the policy to apply it again",
				v.committed.Undone),
		}
	case v.current() && v.standing.is == netpolicy.StandingSuperseded:
		return judgement{state: condition.Aborted, message: superseded(v, s)}
	case v.ended(netpolicy.ActionApply) && v.outcome.Result == netpolicy.ResultFailed:
		return judgeFailed(v, netpolicy.ActionApply)
	case v.ended(netpolicy.ActionApply) && v.current() && v.standing.is == netpolicy.StandingLost:
		return judgeLost(v)
	case v.ended(netpolicy.ActionApply) && v.inForce(s.boot):
		return judgement{state: condition.Available, message: condition.MessageAvailable}
	}
	return judgeWaiting(v, netpolicy.ActionApply)
}

// judgeLeaving is for a policy that is deleted or not for this node any more: the node is left as it is, or reverted.
func judgeLeaving(v *view) judgement {
	if v.policy == nil || v.policy.Spec.OnDelete != nmstatev1.OnDeleteRevert || v.committed == nil || v.committed.Undone != "" ||
		v.standing.is == netpolicy.StandingSuperseded {
		return judgement{state: stateRemoved}
	}
	if v.ended(netpolicy.ActionRevert) && v.outcome.Result == netpolicy.ResultFailed {
		return judgeFailed(v, netpolicy.ActionRevert)
	}
	j := judgeWaiting(v, netpolicy.ActionRevert)
	if v.policy.DeletionTimestamp.IsZero() {
		// The operator grants the policy's nodes, and this is none of them any more.
		j.ready, j.action, j.attempt = true, netpolicy.ActionRevert, 1
	}
	return j
}

// judgeWaiting is for what has not begun: the operator says when.
func judgeWaiting(v *view, action string) judgement {
	if v.enactment != nil && nmstatev1beta1.Granted(v.enactment, v.policy) {
		return judgement{state: condition.Pending, message: condition.MessagePending, ready: true, action: action, attempt: 1}
	}
	if v.aborted() {
		return judgement{state: condition.Aborted, message: condition.MessageAborted}
	}
	return judgement{state: condition.Pending, message: condition.MessagePending}
}

// judgeFailed decides whether another attempt follows.
func judgeFailed(v *view, action string) judgement {
	o := v.outcome
	message := "failed to configure"
	if o.Evidence != nil {
		message = o.Evidence.Message
	}
	if o.Attempt >= maxAttempts || o.Evidence != nil && o.Evidence.Permanent() {
		return judgement{state: condition.Failed, message: message}
	}
	return judgement{
		state: condition.Retrying, message: fmt.Sprintf("%s; Retrying %d/%d", message, o.Attempt, maxAttempts),
		ready: v.enactment != nil && nmstatev1beta1.Granted(v.enactment, v.policy), action: action, attempt: o.Attempt + 1,
		due: o.Ended.Add(min(firstRetry<<max(o.Attempt-1, 0), maxRetry)),
	}
}

// aborted says that the operator has aborted this generation before the node started: it writes the condition itself.
func (v *view) aborted() bool {
	if v.enactment == nil || v.enactment.Status.PolicyGeneration != v.policy.Generation {
		return false
	}
	state, _ := condition.Of(v.enactment.Status.Conditions)
	return state == condition.Aborted
}

// ended says that an enactment of the policy as it is now has ended.
func (v *view) ended(action string) bool {
	return v.outcome != nil && v.outcome.Action == action && v.outcome.UID == string(v.policy.UID) &&
		v.outcome.Generation == v.policy.Generation
}

func (v *view) current() bool {
	return v.committed != nil && v.committed.UID == string(v.policy.UID) && v.committed.Generation == v.policy.Generation
}

func (v *view) inForce(boot string) bool { return v.current() && v.committed.InForce(boot) }

func (v *view) undone() bool { return v.current() && v.committed.Undone != "" }
