package netenactment

import (
	"fmt"
	"time"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
)

// state is how far a policy is on this node.
type state string

const (
	// stateRemoved: the policy is not for this node (any more), and nothing is left to do but to say so.
	stateRemoved     state = "removed"
	statePending     state = "pending"
	stateProgressing state = "progressing"
	stateAvailable   state = "available"
	stateRetrying    state = "retrying"
	stateFailing     state = "failing"
	stateAborted     state = "aborted"
)

const (
	// maxAttempts is how often a node tries one generation of a policy, as kubernetes-nmstate does.
	maxAttempts = 5
	// The pause before the second attempt, which doubles with each, and its limit.
	firstRetry = time.Second
	maxRetry   = 30 * time.Second
)

// judgement is the state of one policy and what may be done about it.
type judgement struct {
	state   state
	message string
	// ready says that an enactment with this action may start, from due on.
	ready   bool
	action  string
	attempt int
	due     time.Time
	drift   []netpolicy.Mismatch
}

// Messages of the conditions, those of kubernetes-nmstate.
const (
	messageProgressing = "Applying desired state"
	messageAvailable   = "successfully reconciled"
	messagePending     = "Waiting for progressing nodes to finish"
	messageAborted     = "The roll-out of the policy was aborted before this node started"
)

// judge derives the state of a policy. Its order matters: what runs comes first, then what has ended.
func judge(v *view, s *scene) judgement {
	if s.request != nil && s.request.Policy == v.name {
		return judgement{state: stateProgressing, message: messageProgressing}
	}
	if v.policy == nil || !v.policy.DeletionTimestamp.IsZero() || !s.selected(v.policy) {
		return judgeLeaving(v)
	}
	switch {
	case v.undone():
		return judgement{state: stateAborted, message: fmt.Sprintf("Undone on the node by operation %s; edit the policy to apply it again",
			v.committed.Undone)}
	case v.ended(netpolicy.ActionApply) && v.outcome.Result == netpolicy.ResultFailed:
		return judgeFailed(v, netpolicy.ActionApply)
	case v.ended(netpolicy.ActionApply) && v.inForce(s.boot):
		return judgement{state: stateAvailable, message: messageAvailable}
	}
	return judgeWaiting(v, netpolicy.ActionApply)
}

// judgeLeaving is for a policy that is deleted or not for this node any more: the node is left as it is, or reverted.
func judgeLeaving(v *view) judgement {
	if v.policy == nil || v.policy.Spec.OnDelete != nmstatev1.OnDeleteRevert || v.committed == nil || v.committed.Undone != "" {
		return judgement{state: stateRemoved}
	}
	if v.ended(netpolicy.ActionRevert) && v.outcome.Result == netpolicy.ResultFailed {
		return judgeFailed(v, netpolicy.ActionRevert)
	}
	return judgeWaiting(v, netpolicy.ActionRevert)
}

// judgeWaiting is for what has not begun: the operator says when.
func judgeWaiting(v *view, action string) judgement {
	if v.enactment != nil && nmstatev1beta1.Granted(v.enactment, v.policy) {
		return judgement{state: statePending, message: messagePending, ready: true, action: action, attempt: 1}
	}
	if rollout := v.policy.Status.Rollout; rollout != nil && rollout.Phase == nmstatev1.PhaseAborted &&
		v.policy.Status.ObservedGeneration == v.policy.Generation {
		return judgement{state: stateAborted, message: messageAborted}
	}
	return judgement{state: statePending, message: messagePending}
}

// judgeFailed decides whether another attempt follows.
func judgeFailed(v *view, action string) judgement {
	o := v.outcome
	message := "failed to configure"
	if o.Evidence != nil {
		message = o.Evidence.Message
	}
	if o.Attempt >= maxAttempts || o.Evidence != nil && o.Evidence.Permanent() {
		return judgement{state: stateFailing, message: message}
	}
	return judgement{
		state: stateRetrying, message: fmt.Sprintf("%s; Retrying %d/%d", message, o.Attempt, maxAttempts),
		ready: v.enactment != nil && nmstatev1beta1.Granted(v.enactment, v.policy), action: action, attempt: o.Attempt + 1,
		due: o.Ended.Add(min(firstRetry<<max(o.Attempt-1, 0), maxRetry)),
	}
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
