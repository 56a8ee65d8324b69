package netenactment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// stateRemoved: the policy is not for this node (any more), and its enactment goes.
const stateRemoved condition.State = "Removed"

const (
	// maxAttempts is how often a node tries one generation of a policy, as kubernetes-nmstate does, if what failed may pass by itself.
	maxAttempts = 5
	// The pause before the second attempt, which doubles with each, and its limit; of attempts that a changed network brings, too.
	firstRetry   = time.Second
	maxRetry     = 30 * time.Second
	maxReattempt = 10 * time.Minute
	// dependencySettles is how long what a failed document depends on has to differ before the document is tried again: links come and
	// go while the network finds back to its former state.
	dependencySettles = 10 * time.Second
)

// decision is the state of one policy and what may be done about it.
type decision struct {
	state   condition.State
	message string
	// reason of Pending, where it is not that of the table.
	reason string
	// ready says that an enactment with this action may start, from due on.
	ready   bool
	action  string
	attempt int
	due     time.Time
	drift   []netpolicy.Mismatch
	// depends: the document failed, and has another chance when what it depends on has changed.
	depends bool
	// ungranted: the operator has not let the node start.
	ungranted bool
	// lost: the message says what this boot runs without.
	lost bool
}

// decide derives the state of a policy. Its order matters: what runs comes first, then what has ended.
func decide(v *policyView, s *observation) decision {
	if s.request != nil && s.request.Policy == v.name {
		message := condition.MessageProgressing
		if s.unreadable {
			message = fmt.Sprintf("The journal of operation %s is of a newer version; the network stays as it is until an agent of that "+
				"version runs", s.request.OperationID)
		}
		return decision{state: condition.Progressing, message: message}
	}
	if v.policy == nil || !v.policy.DeletionTimestamp.IsZero() || !s.isSelectedBy(v) {
		return decideLeaving(v)
	}
	switch {
	case v.isCurrent() && v.committed.Undone != "":
		return decision{
			state: condition.Aborted,
			message: fmt.Sprintf("Undone on the node by operation %s; edit the policy to apply it again",
				v.committed.Undone),
		}
	case v.isCurrent() && v.compared.is == netpolicy.StandingSuperseded:
		return decision{
			state: condition.Aborted,
			message: fmt.Sprintf("Stateroot %s was configured otherwise after the policy was applied, and is left as it is; edit the "+
				"policy to apply it again. It would change %s", s.stateroot, listMismatches(v.compared.differ)),
		}
	case v.hasEnded(netpolicy.ActionApply) && v.outcome.Result == netpolicy.ResultFailed:
		return decideFailed(v, netpolicy.ActionApply)
	case v.hasEnded(netpolicy.ActionApply) && v.isCurrent() && v.compared.is == netpolicy.StandingLost:
		return decideLost(v)
	case v.hasEnded(netpolicy.ActionApply) && v.isCurrent() && v.committed.InForce(s.boot):
		return decision{state: condition.Available, message: condition.MessageAvailable}
	}
	return decideWaiting(v, netpolicy.ActionApply)
}

// decideLeaving is for a policy that is deleted or not for this node any more: the node is left as it is, or reverted.
func decideLeaving(v *policyView) decision {
	if v.policy == nil || v.policy.Spec.OnDelete != nmstatev1.OnDeleteRevert || v.committed == nil || v.committed.Undone != "" ||
		v.compared.is == netpolicy.StandingSuperseded {
		return decision{state: stateRemoved}
	}
	if v.hasEnded(netpolicy.ActionRevert) && v.outcome.Result == netpolicy.ResultFailed {
		return decideFailed(v, netpolicy.ActionRevert)
	}
	j := decideWaiting(v, netpolicy.ActionRevert)
	if v.policy.DeletionTimestamp.IsZero() {
		// The operator grants the policy's nodes, and this is none of them any more.
		j.ready, j.action, j.attempt = true, netpolicy.ActionRevert, 1
	}
	return j
}

// decideWaiting is for what has not begun: the operator says when.
func decideWaiting(v *policyView, action string) decision {
	if v.enactment != nil && nmstatev1beta1.Granted(v.enactment, v.policy) {
		return decision{state: condition.Pending, reason: nmstatev1beta1.ReasonAwaitingOperator, message: messageAwaiting, ready: true,
			action: action, attempt: 1}
	}
	if v.enactment != nil && v.enactment.Status.PolicyGeneration == v.policy.Generation {
		// The operator writes this condition itself, before the node starts.
		if state, _ := condition.Of(v.enactment.Status.Conditions); state == condition.Aborted {
			return decision{state: condition.Aborted, message: condition.MessageAborted}
		}
	}
	return decision{state: condition.Pending, reason: nmstatev1beta1.ReasonAwaitingOperator, message: messageAwaiting, ungranted: true}
}

// decideFailed decides whether another attempt follows. One follows by itself where the failure was of a kind that passes: the same
// document on the same network fails again, and each attempt may hold the node, and its other policies, for minutes.
func decideFailed(v *policyView, action string) decision {
	o := v.outcome
	message := "failed to configure"
	if o.Evidence != nil {
		message = o.Evidence.Message
	}
	granted := v.enactment != nil && nmstatev1beta1.Granted(v.enactment, v.policy)
	passing := o.Evidence != nil && o.Evidence.Passing
	if !passing || o.Attempt >= maxAttempts {
		// Where the network could not even be observed, that it can be now is a change.
		again := granted && (o.Depends != "" || passing) && (o.Evidence == nil || !o.Evidence.Permanent())
		return decision{state: condition.Failed, message: message, depends: again, action: action, attempt: o.Attempt + 1}
	}
	due := o.Ended.Add(pauseBefore(o.Attempt+1, maxRetry))
	if o.Evidence.RetryAt.After(due) {
		due = o.Evidence.RetryAt
	}
	return decision{
		state: condition.Retrying, message: fmt.Sprintf("%s; Retrying %d/%d", message, o.Attempt, maxAttempts),
		ready: granted, action: action, attempt: o.Attempt + 1, due: due,
	}
}

// pauseBefore is the pause before an attempt: it doubles with each, up to a limit.
func pauseBefore(attempt int, limit time.Duration) time.Duration {
	return min(firstRetry<<min(max(attempt-2, 0), 16), limit)
}

// checkDependencies gives a document that failed another chance when what it depends on is no longer as it was before the attempt, and
// has been so for a while.
func (r *Reconciler) checkDependencies(ctx context.Context, s *observation, v *policyView, j *decision) {
	if s.request != nil {
		return
	}
	now, err := s.observeNetwork(ctx)
	if err != nil {
		r.Log.Warn("it is unknown whether a failed policy has another chance", "policy", v.name, "error", err)
		return
	}
	if netpolicy.Dependencies(v.outcome.Document, len(v.policy.Spec.Capture) > 0, now) == v.outcome.Depends {
		delete(r.changedSince, v.name)
		return
	}
	if r.changedSince == nil {
		r.changedSince = map[string]time.Time{}
	}
	since, known := r.changedSince[v.name]
	if !known {
		since, r.changedSince[v.name] = s.now, s.now
	}
	j.ready, j.due = true, since.Add(dependencySettles)
	limit := maxReattempt
	if e := v.outcome.Evidence; e != nil && e.Phase == netpolicy.PhaseResolve {
		limit = maxRetry // it holds the node for a moment only
	}
	if pause := v.outcome.Ended.Add(pauseBefore(j.attempt, limit)); pause.After(j.due) {
		j.due = pause
	}
}

// hasEnded says that an enactment of the policy as it is now has ended.
func (v *policyView) hasEnded(action string) bool {
	return v.outcome != nil && v.outcome.Action == action && v.outcome.UID == string(v.policy.UID) &&
		v.outcome.Generation == v.policy.Generation
}

func (v *policyView) isCurrent() bool {
	return v.committed != nil && v.committed.UID == string(v.policy.UID) && v.committed.Generation == v.policy.Generation
}

// settleAfterBoot is how long the network of a boot may differ from a persistent policy before it counts as lost: links come up and
// addresses arrive one after the other.
const settleAfterBoot = 30 * time.Second

// comparison is what became of a committed policy since another boot or stateroot.
type comparison struct {
	is     netpolicy.Standing
	differ []netpolicy.Mismatch
	// settling: the network differs, and may still be coming up.
	settling bool
}

// compareRecord compares the record of a policy with the system that runs, and confirms one whose document is in force, so that what
// changes from then on is drift. It says when to compare again; 0 is at the next event.
func (r *Reconciler) compareRecord(ctx context.Context, s *observation, v *policyView) (time.Duration, error) {
	c := v.committed
	if c == nil || c.Undone != "" || v.policy == nil || c.UID != string(v.policy.UID) {
		return 0, nil
	}
	if s.request != nil { // the network is changing
		if c.Boot != s.boot {
			v.compared = comparison{is: netpolicy.StandingLost, settling: true}
		}
		return 0, nil
	}
	is, differ, err := netpolicy.Stands(r.Node.Files, *c, netpolicy.SystemNow{Boot: s.boot, Stateroot: s.stateroot,
		Network: func() (netstate.Document, error) { return s.observeNetwork(ctx) }})
	if err != nil {
		return 0, err
	}
	v.compared = comparison{is: is, differ: differ}
	if is == netpolicy.StandingLost && !c.Ephemeral {
		if wasReported(v, differ) {
			v.compared.is = netpolicy.StandingInForce // it differed before, and that was reported
		} else {
			if r.differsSince == nil {
				r.differsSince = map[string]time.Time{}
			}
			since, known := r.differsSince[v.name]
			if !known {
				since, r.differsSince[v.name] = s.now, s.now
			}
			if wait := settleAfterBoot - s.now.Sub(since); wait > 0 {
				v.compared.settling = true
				return wait, nil
			}
		}
	}
	if v.compared.is != netpolicy.StandingInForce {
		return 0, nil
	}
	delete(r.differsSince, v.name)
	delete(r.reportedLost, v.name) // what is lost from here on is another loss
	return 0, r.confirmRecord(s, v)
}

func (r *Reconciler) confirmRecord(s *observation, v *policyView) error {
	if v.committed.Boot == s.boot && (v.committed.Stateroot == s.stateroot || v.committed.Stateroot == "") {
		return nil
	}
	if err := (record.Store{Files: r.Node.Files}).Confirm(*v.committed, s.boot, s.stateroot); err != nil {
		return fmt.Errorf("confirm policy %s in this boot: %w", v.name, err)
	}
	v.committed.Boot, v.committed.Stateroot = s.boot, s.stateroot
	return nil
}

// wasReported says that all these keys were reported as drift before.
func wasReported(v *policyView, differ []netpolicy.Mismatch) bool {
	if v.enactment == nil || v.enactment.Status.Drift == nil {
		return false
	}
	known := map[string]bool{}
	for _, m := range v.enactment.Status.Drift.Mismatches {
		known[m.Key] = true
	}
	return !slices.ContainsFunc(differ, func(m netpolicy.Mismatch) bool { return !known[m.Key] })
}

// decideLost is for a policy that was in force, and that this boot or stateroot runs without: the node has its grant already.
func decideLost(v *policyView) decision {
	if v.compared.settling {
		message := "Waiting for the network of this boot"
		if len(v.compared.differ) > 0 {
			message += ": " + listMismatches(v.compared.differ)
		}
		return decision{state: condition.Pending, reason: nmstatev1beta1.ReasonNetworkComingUp, message: message}
	}
	j := decideWaiting(v, netpolicy.ActionApply)
	j.lost = j.state == condition.Pending
	if j.lost {
		j.message = messageLost + listMismatches(v.compared.differ)
	}
	return j
}

// messageLost is followed by the keys that differ.
const messageLost = "This boot runs without the policy's network, which is applied again: "

// newlyLost says, once in a boot, that a persistent network is found to be lost: the policy is applied again now, or waits for its
// grant.
func (r *Reconciler) newlyLost(s *observation, v *policyView, j decision) bool {
	if v.compared.is != netpolicy.StandingLost || v.compared.settling || v.committed.Ephemeral ||
		j.state != condition.Progressing && j.state != condition.Pending || r.reportedLost[v.name] == s.boot {
		return false
	}
	if r.reportedLost == nil {
		r.reportedLost = map[string]string{}
	}
	r.reportedLost[v.name] = s.boot
	return true
}

// checkDrift compares the network with what the policy committed, unless an enactment is changing it. A policy that says so is
// applied again, at growing intervals: another program may fight for the same setting.
func (r *Reconciler) checkDrift(ctx context.Context, s *observation, v *policyView, j *decision) {
	if s.request != nil {
		return
	}
	now, err := s.observeNetwork(ctx)
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
	late, err := netpolicy.Unanswered(v.committed.Document, now)
	if err != nil {
		r.Log.Warn("drift cannot be judged", "policy", v.name, "error", err)
		return
	}
	j.message = strings.Join(append([]string{j.message}, late...), "; ")
	if r.Metrics != nil {
		r.Metrics.drift.WithLabelValues(v.name).Set(float64(len(found)))
	}
	if len(found) == 0 || v.policy.Spec.OnDrift != nmstatev1.OnDriftCorrect {
		return
	}
	if r.corrections == nil {
		r.corrections = map[string]*nodejob.Backoff{}
	}
	b := r.corrections[v.name]
	if b == nil || s.now.Sub(b.Due()) > correctionsForgotten {
		b = &nodejob.Backoff{}
		r.corrections[v.name] = b
	}
	j.ready, j.action, j.attempt, j.due = true, netpolicy.ActionApply, 1, b.Due()
	if b.Ready(s.now) {
		b.Begin(s.now)
		j.due = s.now
	}
}

// correctionsForgotten is how long after a repair a new drift counts as one of its own.
const correctionsForgotten = 10 * time.Minute
