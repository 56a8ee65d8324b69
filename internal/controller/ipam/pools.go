package ipam

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// reconcilePool keeps what is known of a pool up to date, and its status.
func (r *Reconciler) reconcilePool(ctx context.Context, name types.NamespacedName) (ctrl.Result, error) {
	if err := r.load(ctx); err != nil {
		return ctrl.Result{}, err
	}
	o := &metal3.IPPool{}
	err := r.Client.Get(ctx, name, o)
	if apierrors.IsNotFound(err) {
		r.drop(name)
		r.Metrics.forgetPool(name)
		r.wake(name, true)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read pool %s: %w", name, err)
	}
	problem := r.learn(ctx, o)
	if yes, err := r.poolPaused(ctx, o); yes || err != nil {
		return ctrl.Result{RequeueAfter: whilePaused}, err
	}
	if o.DeletionTimestamp != nil {
		if gone, err := r.emptied(ctx, o); gone || err != nil {
			return ctrl.Result{}, err
		}
	} else if controllerutil.AddFinalizer(o, metal3.PoolFinalizer) {
		if err := r.addPoolFinalizer(ctx, o); err != nil {
			return ctrl.Result{}, err
		}
	}
	// Counting costs what is held, and claims are served far more often than it is due. Each replica counts for itself: which of them
	// writes is only known then.
	if wait := r.ledger.count(name, publishEvery); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	next, err := r.expire(ctx, o)
	if err != nil {
		return ctrl.Result{}, err
	}
	wait, err := r.publish(ctx, o, problem)
	return ctrl.Result{RequeueAfter: soonest(next, wait)}, err
}

// learn updates the arithmetic of a pool, and lets claims try again when it changed.
func (r *Reconciler) learn(ctx context.Context, o *metal3.IPPool) error {
	name := client.ObjectKeyFromObject(o)
	before := r.ledger.pool(name)
	spec, err := kinds.Spec(o)
	if err == nil {
		err = r.ledger.setPool(o, spec)
	}
	if err != nil {
		r.drop(name)
		return err
	}
	if after := r.ledger.pool(name); before == nil || after == nil || before.Pool != after.Pool {
		if err := r.noteAddresses(ctx, o.Namespace); err != nil {
			return err
		}
	}
	if r.ledger.generationTold(name, o.Generation) || before == nil {
		r.wake(name, true)
		r.wakeNeighbours(name, spec.Network)
	}
	return nil
}

// drop forgets a pool that is gone, or can not be calculated with.
func (r *Reconciler) drop(name types.NamespacedName) {
	before := r.ledger.pool(name)
	if before == nil {
		return
	}
	r.ledger.dropPool(name)
	r.wakeNeighbours(name, before.spec.Network)
}

// wakeNeighbours lets the other pools of a network, and who waits for them, know of a change of this one: its DHCP range may
// have closed them.
func (r *Reconciler) wakeNeighbours(name types.NamespacedName, network string) {
	for _, other := range r.ledger.others(name, network) {
		r.wake(client.ObjectKeyFromObject(other.object), true)
	}
}

func (r *Reconciler) addPoolFinalizer(ctx context.Context, o *metal3.IPPool) error {
	before := o.DeepCopy()
	controllerutil.RemoveFinalizer(before, metal3.PoolFinalizer)
	if err := r.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("put finalizer on pool %s/%s: %w", o.Namespace, o.Name, err)
	}
	return nil
}

// emptied lets a pool go that is being deleted, once no claim holds any of it. What is kept back goes with it.
func (r *Reconciler) emptied(ctx context.Context, o *metal3.IPPool) (bool, error) {
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
	if err := r.unfinalize(ctx, o, metal3.PoolFinalizer); err != nil {
		return false, fmt.Errorf("take finalizer off pool %s/%s: %w", o.Namespace, o.Name, err)
	}
	return true, nil
}

// expire deletes the locks whose time is over, and says when the next one is.
func (r *Reconciler) expire(ctx context.Context, o *metal3.IPPool) (next time.Duration, err error) {
	locks, _ := r.ledger.heldBy(client.ObjectKeyFromObject(o))
	for _, lock := range locks {
		left, over := r.remaining(lock, o.Spec.Sticky)
		if !over {
			next = soonest(next, left)
			continue
		}
		if err := r.deleteLock(ctx, lock); err != nil {
			if apierrors.IsConflict(err) {
				continue // taken over meanwhile
			}
			return 0, err
		}
	}
	return next, nil
}

// remaining is how long a lock that no claim holds keeps its address back; 0 and false: for no known time.
func (r *Reconciler) remaining(lock *lockv1.AddressLock, sticky bool) (left time.Duration, over bool) {
	switch {
	case lock.Spec.State == lockv1.LockHeld, lock.Spec.State == lockv1.LockReserved && sticky:
		return 0, false
	case lock.Spec.Until == nil:
		return 0, true
	}
	left = lock.Spec.Until.Sub(r.Now())
	return left, left <= 0
}

// soonest is the smaller of two waits, 0 being none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
