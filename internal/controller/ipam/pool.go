package ipam

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/requeue"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// publishEvery is how often at most a pool's status is written, however many claims are served.
const publishEvery = time.Second

// reconcilePool keeps what is known of a pool up to date, ends its quarantines, and publishes its status.
func (r *Reconciler) reconcilePool(ctx context.Context, name types.NamespacedName) (ctrl.Result, error) {
	if err := r.loadLedger(ctx); err != nil {
		return ctrl.Result{}, err
	}
	o := &metal3.IPPool{}
	err := r.Client.Get(ctx, name, o)
	if apierrors.IsNotFound(err) {
		r.dropPool(name)
		r.wakeNeighbours(name, r.ledger.expelPool(name)...)
		r.Metrics.forgetPool(name)
		r.requeueWaiting(name, true)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read pool %s: %w", name, err)
	}
	invalid := r.learnPool(o)
	if paused, err := r.poolPaused(ctx, o); paused || err != nil {
		return ctrl.Result{RequeueAfter: pausedRetry}, err
	}
	if o.DeletionTimestamp != nil {
		if gone, err := r.releasePool(ctx, o); gone || err != nil {
			return ctrl.Result{}, err
		}
	} else if controllerutil.AddFinalizer(o, metal3.PoolFinalizer) {
		if err := r.addPoolFinalizer(ctx, o); err != nil {
			return ctrl.Result{}, err
		}
	}
	// To count costs as much as the pool has locks, and claims are served far more often than it is due.
	if wait := r.ledger.countIn(name, publishEvery); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	next, err := r.endQuarantines(ctx, o)
	if err != nil {
		return ctrl.Result{}, err
	}
	wait, err := r.publishPool(ctx, o, invalid)
	return ctrl.Result{RequeueAfter: requeue.Sooner(next, wait)}, err
}

// learnPool updates the arithmetic of a pool, and wakes the claims that its change concerns. The error says why it is invalid.
func (r *Reconciler) learnPool(o *metal3.IPPool) error {
	name := client.ObjectKeyFromObject(o)
	moved := r.ledger.enrollPool(o) // before the pool can allocate anything
	spec, err := kinds.Spec(o)
	if err != nil {
		r.dropPool(name)
		r.wakeNeighbours(name, moved...)
		return fmt.Errorf("read the spec: %w", err)
	}
	changed, err := r.ledger.setPool(o, spec)
	if changed {
		moved = append(moved, spec.Network)
	}
	if len(moved) > 0 {
		r.requeueWaiting(name, true)
		r.wakeNeighbours(name, moved...)
	}
	return err
}

// dropPool forgets a pool that is gone, or cannot be calculated with.
func (r *Reconciler) dropPool(name types.NamespacedName) {
	before := r.ledger.supplyOf(name)
	if before == nil {
		return
	}
	r.ledger.dropPool(name)
	r.wakeNeighbours(name, before.spec.Network)
}

// wakeNeighbours requeues the other pools of networks and the claims that wait for them: the DHCP range of the pool that changed may
// have closed them, or the network may be another namespace's now.
func (r *Reconciler) wakeNeighbours(name types.NamespacedName, networks ...string) {
	for _, network := range networks {
		for _, other := range r.ledger.poolsBeside(name, network) {
			r.requeueWaiting(other.poolName(), true)
			r.queues.addPool(other.poolName())
		}
	}
}

// poolPaused says that a pool or its Cluster is paused.
func (r *Reconciler) poolPaused(ctx context.Context, o *metal3.IPPool) (bool, error) {
	if annotatedPaused(o) || o.Spec.ClusterName == nil {
		return annotatedPaused(o), nil
	}
	return cluster.Paused(ctx, runtimeclient.NewReader(r.Reader), types.NamespacedName{Namespace: o.Namespace, Name: *o.Spec.ClusterName})
}

func (r *Reconciler) addPoolFinalizer(ctx context.Context, o *metal3.IPPool) error {
	before := o.DeepCopy()
	controllerutil.RemoveFinalizer(before, metal3.PoolFinalizer)
	if err := r.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("add finalizer to pool %s/%s: %w", o.Namespace, o.Name, err)
	}
	return nil
}

// releasePool takes the finalizer off a pool that is being deleted, once no claim holds an address of it. Locks that keep addresses
// back are deleted with it.
func (r *Reconciler) releasePool(ctx context.Context, o *metal3.IPPool) (gone bool, err error) {
	locks := &lockv1.AddressLockList{}
	if err := r.Reader.List(ctx, locks); err != nil {
		return false, fmt.Errorf("list the locks of pool %s/%s: %w", o.Namespace, o.Name, err)
	}
	var kept []*lockv1.AddressLock
	for i := range locks.Items {
		lock := &locks.Items[i]
		if poolOf(lock) != client.ObjectKeyFromObject(o) {
			continue
		}
		if lock.Spec.State == lockv1.LockHeld {
			return false, nil
		}
		kept = append(kept, lock)
	}
	for _, lock := range kept {
		if err := r.deleteLock(ctx, lock); err != nil {
			return false, err
		}
	}
	if err := r.removeFinalizers(ctx, o, metal3.PoolFinalizer); err != nil {
		return false, fmt.Errorf("remove finalizer from pool %s/%s: %w", o.Namespace, o.Name, err)
	}
	return true, nil
}

// endQuarantines deletes the locks that keep an address back no longer, and says when the next one is due.
func (r *Reconciler) endQuarantines(ctx context.Context, o *metal3.IPPool) (next time.Duration, err error) {
	locks, _ := r.ledger.heldBy(client.ObjectKeyFromObject(o))
	for _, lock := range locks {
		left, over := r.reservationLeft(lock, o.Spec.Sticky)
		if !over {
			if left, err = r.shortenQuarantine(ctx, o, lock, left); err != nil {
				return 0, err
			}
			next = requeue.Sooner(next, left)
			continue
		}
		if err := r.deleteLock(ctx, lock); err != nil && !apierrors.IsConflict(err) { // a conflict: a claim has taken it over
			return 0, err
		}
	}
	return next, nil
}

// quarantineSlack is how much longer than its pool says a quarantine may last: ends are rounded up, and clocks differ.
const quarantineSlack = 5 * time.Second

// shortenQuarantine ends a quarantine that lasts longer than its pool says from now on, as after the clock was set back or the pool
// was edited, when the pool says so. It returns how long the address is kept back.
func (r *Reconciler) shortenQuarantine(
	ctx context.Context, o *metal3.IPPool, lock *lockv1.AddressLock, left time.Duration,
) (time.Duration, error) {
	p := r.ledger.supplyOf(client.ObjectKeyFromObject(o))
	if p == nil || left <= p.spec.Quarantine+quarantineSlack {
		return left, nil
	}
	next := lock.DeepCopy()
	until := metav1.NewTime(r.Now().Add(p.spec.Quarantine).Truncate(time.Second))
	next.Spec.Until = &until
	err := r.Client.Update(ctx, next)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // a claim has taken it over
		return left, nil
	}
	if err != nil {
		return 0, fmt.Errorf("shorten the quarantine of lock %s: %w", lock.Name, err)
	}
	r.ledger.recordLock(next)
	return max(until.Sub(r.Now()), time.Second), nil
}

// reservationLeft is how long a lock keeps its address back; 0 and false: without a known end.
func (r *Reconciler) reservationLeft(lock *lockv1.AddressLock, sticky bool) (left time.Duration, over bool) {
	switch {
	case lock.Spec.State == lockv1.LockHeld, lock.Spec.State == lockv1.LockReserved && sticky:
		return 0, false
	case lock.Spec.Until == nil:
		return 0, true
	}
	left = lock.Spec.Until.Sub(r.Now())
	return left, left <= 0
}

// publishPool writes the status of a pool if it reports anything new, or says how long to wait with that.
func (r *Reconciler) publishPool(ctx context.Context, o *metal3.IPPool, invalid error) (time.Duration, error) {
	after := o.DeepCopy()
	after.Status = r.poolStatus(o, invalid)
	if equality.Semantic.DeepEqual(o.Status, after.Status) {
		return 0, nil
	}
	now := metav1.NewTime(r.Now())
	if last := o.Status.LastUpdated; last != nil {
		if since := now.Sub(last.Time); since >= 0 && since < publishEvery { // a clock that was set back makes it due
			return publishEvery - since, nil
		}
	}
	after.Status.LastUpdated = &now
	err := r.Client.Status().Patch(ctx, after, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return publishEvery, nil
	}
	if err != nil {
		return 0, fmt.Errorf("write status of pool %s/%s: %w", o.Namespace, o.Name, err)
	}
	r.announcePool(o, after)
	return 0, nil
}

// announcePool emits an event when the reason of the pool's condition changes.
func (r *Reconciler) announcePool(before, after *metal3.IPPool) {
	old := apimeta.FindStatusCondition(before.Status.Conditions, metal3.ConditionReady)
	now := apimeta.FindStatusCondition(after.Status.Conditions, metal3.ConditionReady)
	if now == nil || old != nil && old.Reason == now.Reason {
		return
	}
	severity := corev1.EventTypeNormal
	if now.Reason != metal3.ReasonAvailable && now.Reason != metal3.ReasonDeleting {
		severity = corev1.EventTypeWarning
	}
	r.emitEvent(after, severity, now.Reason, "Watch", now.Message)
}

// poolStatus computes the status of a pool.
func (r *Reconciler) poolStatus(o *metal3.IPPool, invalid error) metal3.IPPoolStatus {
	status := *o.Status.DeepCopy()
	status.ObservedGeneration = o.Generation
	name := client.ObjectKeyFromObject(o)
	locks, held := r.ledger.heldBy(name)
	status.Used, status.InUse, status.Indexes = int64(held), spanOf(locks), indexByClaim(locks, held)
	status.Quarantined = int64(len(locks) - held)
	p := r.ledger.supplyOf(name)
	var stats ipam.Stats
	if p != nil {
		stats = p.Stats()
		status.Total, status.Free = stats.Total.String(), stats.Free.String()
	}
	c := metav1.Condition{Type: metal3.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: o.Generation,
		LastTransitionTime: metav1.NewTime(r.Now())}
	var open bool
	if c.Reason, c.Message, open = r.poolReason(o, p, stats, invalid); open {
		c.Status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&status.Conditions, c)
	status.Conditions = summarizePool(status.Conditions, c, r.Now())
	r.Metrics.showPool(name, status, stats)
	return status
}

// summarizePool repeats Ready for programs that know no kind. A pool that allocates nothing needs a person, but for one that is held
// on purpose or goes away.
func summarizePool(items []metav1.Condition, ready metav1.Condition, now time.Time) []metav1.Condition {
	l := status.NewConditions(items, ready.ObservedGeneration, now)
	switch {
	case ready.Status == metav1.ConditionTrue:
		l.Summarize(status.Settled, "", "")
	case ready.Reason == metal3.ReasonDeleting || ready.Reason == metal3.ReasonPaused:
		l.Summarize(status.Reconciling, ready.Reason, ready.Message)
	default:
		l.Summarize(status.Stalled, ready.Reason, ready.Message)
	}
	return l.Items
}

// poolReason says in a word and a sentence what state a pool is in, and whether it is open for claims.
func (r *Reconciler) poolReason(o *metal3.IPPool, p *supply, stats ipam.Stats, invalid error) (reason, message string, open bool) {
	switch {
	case o.DeletionTimestamp != nil:
		return metal3.ReasonDeleting, "the pool is being deleted; it allocates no more and waits for the deletion of its claims", false
	case invalid != nil:
		return metal3.ReasonInvalid, invalid.Error(), false
	case p == nil:
		return metal3.ReasonInvalid, "the spec cannot be calculated with", false
	}
	if reason, message := r.ledger.closedReason(p); reason != "" {
		return reason, message, false
	}
	if stats.Outside > 0 {
		return metal3.ReasonOutOfRange, fmt.Sprintf("%d addresses in use are not the pool's: %s", stats.Outside, r.outsideMessage(p)), false
	}
	if _, conflict := r.ledger.leasedConflict(p); conflict != nil {
		return metal3.ReasonOverlap, conflict.Error() + "; if that is another network, make a pool that names it in spec.network", true
	}
	if p.countAvailable() == 0 {
		return metal3.ReasonExhausted, r.exhaustedMessage(p, stats), false
	}
	for _, other := range r.ledger.poolsSharing(p) {
		if err := ipam.Conflicts(p.spec, other.spec); err != nil {
			return metal3.ReasonOverlap, err.Error() + "; each address is allocated once nevertheless", true
		}
	}
	return metal3.ReasonAvailable, "addresses are available", true
}

// exhaustedMessage says where the addresses of a pool are. Those that another pool of the network allocated are in the way of this one.
func (r *Reconciler) exhaustedMessage(p *supply, stats ipam.Stats) string {
	if stats.Total.IsZero() {
		return "the ranges of the pool hold no address: a range begins with its start or its subnet"
	}
	text := fmt.Sprintf("all %s addresses are in use or kept back", stats.Total)
	if first, n := r.ledger.inTheWay(p); n > 0 {
		text += fmt.Sprintf("; %d of them are locked on network %s by other pools, such as %s by pool %s (%s); pools of separate networks "+
			"name different networks in spec.network", n, p.spec.Network, first.Spec.Address, poolOf(first), lockWords(first))
	}
	return text
}

// lockWords says what keeps an address from others.
func lockWords(lock *lockv1.AddressLock) string {
	if lock.Spec.State == lockv1.LockHeld {
		return keyOf(lock.Spec.Claim).String()
	}
	return string(lock.Spec.State)
}

// outsideMessage names the addresses that are in use and not the pool's.
func (r *Reconciler) outsideMessage(p *supply) string {
	var in []ipam.Holding
	locks, _ := r.ledger.heldBy(p.poolName())
	for _, lock := range locks {
		if lock.Spec.State == lockv1.LockHeld {
			in = append(in, ipam.Holding{Claim: keyOf(lock.Spec.Claim).String(), Address: addressOf(lock)})
		}
	}
	if err := ipam.CheckResize(p.spec, in); err != nil {
		return err.Error()
	}
	return "excluded, or outside its ranges"
}

// indexByClaim lists the addresses held by the name of the claim, as metal3 lists them; nil where the list would be too long. Claims of two
// kinds may have one name: the IPClaim is listed.
func indexByClaim(locks []*lockv1.AddressLock, held int) map[string]string {
	if held == 0 || held > metal3.MaxIndexes {
		return nil
	}
	out := make(map[string]string, held)
	for _, lock := range locks {
		if c := lock.Spec.Claim; lock.Spec.State == lockv1.LockHeld && (out[c.Name] == "" || c.APIGroup == metal3.GroupVersion.Group) {
			out[c.Name] = lock.Spec.Address
		}
	}
	return out
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
