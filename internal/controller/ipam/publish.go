package ipam

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// publishEvery is how often at most a pool's status is written, however many claims are served.
const publishEvery = time.Second

// publish writes the status of a pool if it is to say something new, or says how long to wait with it.
func (r *Reconciler) publish(ctx context.Context, o *metal3.IPPool, problem error) (time.Duration, error) {
	name := client.ObjectKeyFromObject(o)
	after := r.statusOf(o, problem)
	now := r.Now()
	if same(o.Status, after) {
		return 0, nil
	}
	if last := o.Status.LastUpdated; last != nil && now.Sub(last.Time) < publishEvery {
		return publishEvery - now.Sub(last.Time), nil
	}
	stamp := metav1.NewTime(now)
	after.LastUpdated = &stamp
	next := o.DeepCopy()
	next.Status = after
	// The lock makes two replicas that publish at one time know of each other.
	err := r.Client.Status().Patch(ctx, next, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return publishEvery, nil
	}
	if err != nil {
		return 0, fmt.Errorf("write status of pool %s: %w", name, err)
	}
	r.announcePool(o, next)
	return 0, nil
}

func same(a, b metal3.IPPoolStatus) bool {
	a.LastUpdated, b.LastUpdated = nil, nil
	return equality.Semantic.DeepEqual(a, b)
}

// statusOf computes all of a pool's status.
func (r *Reconciler) statusOf(o *metal3.IPPool, problem error) metal3.IPPoolStatus {
	status := *o.Status.DeepCopy()
	status.ObservedGeneration = o.Generation
	name := client.ObjectKeyFromObject(o)
	locks, held := r.ledger.heldBy(name)
	status.Used, status.InUse = int64(held), spanOf(locks)
	status.Quarantined = int64(len(locks) - held)
	p := r.ledger.pool(name)
	var stats ipam.Stats
	if p != nil {
		stats = p.Stats()
		status.Total, status.Free = stats.Total.String(), stats.Free.String()
	}
	r.Metrics.pool(name, status, stats)
	c := metav1.Condition{Type: metal3.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: o.Generation,
		LastTransitionTime: metav1.NewTime(r.Now())}
	c.Reason, c.Message = r.reasonOf(o, p, stats, problem)
	if c.Reason == metal3.ReasonAvailable || c.Reason == metal3.ReasonOverlap && r.open(p) {
		c.Status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&status.Conditions, c)
	return status
}

func (r *Reconciler) open(p *pool) bool {
	reason, _ := r.closed(p)
	return reason == ""
}

// reasonOf says in a word and a sentence how a pool is.
func (r *Reconciler) reasonOf(o *metal3.IPPool, p *pool, stats ipam.Stats, problem error) (reason, message string) {
	switch {
	case o.DeletionTimestamp != nil:
		return metal3.ReasonDeleting, "waits until the claims on it are gone; no more addresses are given out"
	case problem != nil:
		return metal3.ReasonInvalid, problem.Error()
	case p == nil:
		return metal3.ReasonInvalid, "the spec can not be calculated with"
	}
	if reason, message := r.closed(p); reason != "" {
		return reason, message
	}
	if stats.Outside > 0 {
		return metal3.ReasonOutOfRange, fmt.Sprintf("%d addresses are in use that the pool does not have: %s", stats.Outside, r.outside(p))
	}
	for _, other := range r.ledger.others(client.ObjectKeyFromObject(o), p.spec.Network) {
		if err := ipam.Conflicts(p.spec, other.spec); err != nil {
			return metal3.ReasonOverlap, err.Error() + "; each address is given out once all the same"
		}
	}
	if p.available() == 0 {
		return metal3.ReasonExhausted, fmt.Sprintf("all %s addresses are in use or kept back", stats.Total)
	}
	return metal3.ReasonAvailable, "addresses are available"
}

// outside names what is in use and not the pool's.
func (r *Reconciler) outside(p *pool) string {
	var in []ipam.Holding
	locks, _ := r.ledger.heldBy(client.ObjectKeyFromObject(p.object))
	for _, lock := range locks {
		if lock.Spec.State == lockv1.LockHeld {
			in = append(in, ipam.Holding{Claim: keyOf(lock.Spec.Claim).String(), Address: addressOf(lock)})
		}
	}
	if err := ipam.CheckResize(p.spec, in); err != nil {
		return err.Error()
	}
	return "excluded or outside of its ranges"
}

// spanOf is the lowest and highest address that is held.
func spanOf(locks []*lockv1.AddressLock) *metal3.AddressSpan {
	var first, last netip.Addr
	for _, lock := range locks {
		if lock.Spec.State != lockv1.LockHeld {
			continue
		}
		a := addressOf(lock)
		if !first.IsValid() || a.Less(first) {
			first = a
		}
		if !last.IsValid() || last.Less(a) {
			last = a
		}
	}
	if !first.IsValid() {
		return nil
	}
	return &metal3.AddressSpan{First: first.String(), Last: last.String()}
}
