package netenactment

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/requeue"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// messageAwaiting is of an enactment that was just made.
const messageAwaiting = "Waiting for the operator to let the node start"

const (
	// reasonPace is how long the reason of a wait stays as it is at least. Most waits are over before that; a large roll-out would
	// otherwise have all its nodes write whenever one of them finishes.
	reasonPace = 10 * time.Second
	// operatorSilent is how long the lease of the operator has to stay the same before nodes say so, by the node's own clock.
	operatorSilent = time.Minute
)

// explainPending says what an enactment waits for, and returns when the reason may be another one without an event.
func (r *Reconciler) explainPending(ctx context.Context, s *observation, v *policyView, j *decision) time.Duration {
	if j.lost {
		return 0
	}
	if wait := keepReason(s, v, j, reasonPace+jitterOf(r.NodeName)); wait > 0 {
		return wait
	}
	switch {
	case j.ready && s.request != nil && s.request.Policy != v.name:
		j.reason, j.message = nmstatev1beta1.ReasonNodeBusy, describeBusy(*s.request)
	case j.ungranted && !j.ready:
		j.reason, j.message = describeRollout(v.policy)
		return r.checkOperator(ctx, s, v, j)
	}
	return 0
}

// keepReason keeps the reason of an enactment that has waited for a moment only, or whose reason is new; it returns for how long.
func keepReason(s *observation, v *policyView, j *decision, pace time.Duration) time.Duration {
	if v.enactment == nil || v.enactment.Status.PolicyGeneration != v.policy.Generation {
		return pace
	}
	if j.reason != nmstatev1beta1.ReasonAwaitingOperator { // it is known, and of this pass
		return 0
	}
	i := slices.IndexFunc(v.enactment.Status.Conditions, func(c nmstatev1.Condition) bool {
		return c.Type == nmstatev1beta1.EnactmentPending && c.Status == metav1.ConditionTrue
	})
	if i < 0 {
		return pace
	}
	have := v.enactment.Status.Conditions[i]
	wait := have.LastHeartbeatTime.Add(pace).Sub(s.now)
	if wait > 0 {
		j.reason, j.message = have.Reason, have.Message
	}
	return max(wait, 0)
}

// jitterOf spreads the nodes of a roll-out over another reasonPace.
func jitterOf(node string) time.Duration {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(node)) // never fails
	return time.Duration(sum.Sum32()%uint32(reasonPace/time.Millisecond)) * time.Millisecond
}

// describeBusy names the policy that the node is at.
func describeBusy(request netpolicy.Request) string {
	doing := map[string]string{
		netpolicy.ActionApply: "applies", netpolicy.ActionRevert: "reverts", netpolicy.ActionUndo: "undoes a change of",
	}
	return fmt.Sprintf("The node %s policy %s and takes one policy at a time", doing[request.Action], request.Policy)
}

// describeRollout says what holds a node back that the operator has not granted, by the policy's status. It uses no counts: all nodes of
// a roll-out would write whenever one of them finishes.
func describeRollout(p *nmstatev1.NodeNetworkConfigurationPolicy) (reason, message string) {
	if p.Status.Rollout == nil || p.Status.ObservedGeneration != p.Generation {
		return nmstatev1beta1.ReasonAwaitingOperator, messageAwaiting
	}
	switch phase := p.Status.Rollout.Phase; phase {
	case nmstatev1.PhaseRolling, nmstatev1.PhaseReverting:
		return nmstatev1beta1.ReasonMaxUnavailableLimitReached, condition.MessagePending
	case nmstatev1.PhaseDone:
		return nmstatev1beta1.ReasonAwaitingOperator, messageAwaiting
	default:
		return nmstatev1beta1.ReasonRolloutHeld,
			fmt.Sprintf("The roll-out is in phase %s; status.rollout.message of the policy says what it waits for", phase)
	}
}

// operatorWatch is what was seen of the operator's lease. It is compared with itself, because the clocks of nodes differ.
type operatorWatch struct {
	// at is when the lease was read last, since when it had the version then.
	at, since time.Time
	version   string
	known     bool
}

// checkOperator says so where no operator runs that could let the node start, and returns when to look again.
func (r *Reconciler) checkOperator(ctx context.Context, s *observation, v *policyView, j *decision) time.Duration {
	w := &r.operator
	if w.at.IsZero() || s.now.Sub(w.at) >= operatorSilent {
		if !r.readLease(ctx, s.now) {
			return operatorSilent
		}
	}
	silent := s.now.Sub(w.since) >= operatorSilent
	switch {
	case silent && w.version != "":
		j.reason = nmstatev1beta1.ReasonOperatorNotRunning
		j.message = fmt.Sprintf("No operator runs to let the node start: lease %s has not been renewed since %s; look at the deployment "+
			"of the operator", r.OperatorLease, w.since.UTC().Format(time.RFC3339))
	case silent && j.reason == nmstatev1beta1.ReasonAwaitingOperator: // one that elects no leader has no lease
		j.reason = nmstatev1beta1.ReasonOperatorNotRunning
		j.message = fmt.Sprintf("No operator runs to let the node start: lease %s does not exist; deploy the operator", r.OperatorLease)
	}
	return requeue.Sooner(operatorSilent, max(w.at.Add(operatorSilent).Sub(s.now), time.Second))
}

// readLease reads the lease of the operator, and says whether that is known. One without a holder was released.
func (r *Reconciler) readLease(ctx context.Context, now time.Time) (known bool) {
	w := &r.operator
	if r.OperatorLease.Name == "" {
		return false
	}
	lease := &coordinationv1.Lease{}
	err := r.Reader.Get(ctx, r.OperatorLease, lease)
	if err != nil && !apierrors.IsNotFound(err) {
		r.Log.Warn("it is unknown whether an operator runs", "lease", r.OperatorLease.String(), "error", err)
		return false
	}
	version := lease.ResourceVersion
	if !w.known || version != w.version || now.Sub(w.at) > 3*operatorSilent { // nothing was waited for meanwhile
		w.since = now
	}
	w.at, w.version, w.known = now, version, true
	return true
}

// trialWatch is another program's change of the network that an enactment waits for, as it was seen last.
type trialWatch struct {
	at      time.Time
	message string
}

const (
	// trialPace is how often the agent looks for changes of other programs while an enactment runs.
	trialPace = 5 * time.Second
	// trialAge keeps the enactment's own checkpoint from being taken for another program's: the journal names it a moment after it is made.
	trialAge = 2 * time.Second
)

// describeTrial says that an enactment waits for the checkpoint of another program, and until when: its process waits for minutes, and
// says so in its log only.
func (r *Reconciler) describeTrial(ctx context.Context, s *observation, v *policyView, j *decision) {
	if r.Node.Trials == nil || s.request == nil || s.request.Policy != v.name || s.unreadable {
		return
	}
	if s.now.Sub(r.trial.at) >= trialPace || r.trial.at.After(s.now) {
		trials, err := r.Node.Trials.Trials(ctx)
		if err != nil { // NetworkManager may be away, which the enactment reports
			trials = nil
		}
		r.trial = trialWatch{at: s.now}
		if len(trials) > 0 && s.now.Sub(trials[0].Began) >= trialAge {
			r.trial.message = fmt.Sprintf("Waiting for the end of another program's change: %s; 'lca-cli network status' on the node says "+
				"how to end it", trials[0])
		}
	}
	if r.trial.message != "" {
		j.message = r.trial.message
	}
}
