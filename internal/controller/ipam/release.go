package ipam

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
)

// vanished takes back what a claim had that the cache knows no more.
func (r *Reconciler) vanished(ctx context.Context, k kind, gone key) error {
	for _, lock := range r.ledger.ofClaim(gone) {
		if err := r.release(ctx, k, lock); err != nil {
			return err
		}
	}
	if err := r.bury(ctx, k, gone, ""); err != nil {
		return err
	}
	r.ledger.forget(gone)
	return nil
}

// deleting takes back what a claim has that is on its way out, once nobody but this controller keeps it.
func (r *Reconciler) deleting(ctx context.Context, k kind, c *claim) error {
	own, _ := k.finalizers()
	if len(foreignFinalizers(c, own)) > 0 {
		return nil
	}
	if err := r.vanished(ctx, k, c.key); err != nil {
		return err
	}
	if len(r.ledger.ofClaim(c.key)) > 0 {
		return fmt.Errorf("%s still holds a lock: %w", c.key, errLost)
	}
	if err := r.unfinalize(ctx, c.Object, own...); err != nil {
		return fmt.Errorf("take finalizer off %s: %w", c.key, err)
	}
	return nil
}

// release takes an address back: first what others see of it, then the lock. A lock that its claim deserves, when
// asked itself, is left alone: then the cache was stale.
func (r *Reconciler) release(ctx context.Context, k kind, lock *lockv1.AddressLock) error {
	deserved, err := r.deserves(ctx, k, lock)
	if err != nil || deserved {
		return err
	}
	there, err := k.read(ctx, r.Reader, types.NamespacedName{Namespace: lock.Spec.Claim.Namespace, Name: lock.Spec.AddressName})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("read address %s: %w", lock.Spec.AddressName, err)
	case there.claim == keyOf(lock.Spec.Claim) && canonical(there.address) == lock.Spec.Address &&
		!ownedByAnother(there, lock.Spec.Claim.UID):
		if err := r.deleteAddress(ctx, there); err != nil {
			return err
		}
	}
	if err := r.unlock(ctx, lock); err != nil {
		return err
	}
	r.Metrics.releases.Inc()
	r.Log.Info("address released", "network", lock.Spec.Network, "address", lock.Spec.Address, "claim", keyOf(lock.Spec.Claim).String())
	return nil
}

// deserves asks the API, not the cache, whether a claim has a right to its lock.
func (r *Reconciler) deserves(ctx context.Context, k kind, lock *lockv1.AddressLock) (bool, error) {
	of := keyOf(lock.Spec.Claim)
	c, err := k.get(ctx, r.Reader, of.object())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", of, err)
	}
	if c.GetUID() != lock.Spec.Claim.UID {
		return false, nil
	}
	own, _ := k.finalizers()
	if c.GetDeletionTimestamp() != nil && len(foreignFinalizers(c, own)) == 0 {
		return false, nil
	}
	name := c.address
	if name == "" { // nothing is decided, but the Cluster API's claims share one name of the object
		name = lock.Spec.AddressName
	}
	h, err := k.read(ctx, r.Reader, types.NamespacedName{Namespace: of.namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return name == lock.Spec.AddressName, nil
	}
	if err != nil {
		return false, fmt.Errorf("read address %s: %w", name, err)
	}
	return h.claim != of || ownedByAnother(h, lock.Spec.Claim.UID) || canonical(h.address) == lock.Spec.Address, nil
}

// unlock gives the lock up, or turns it into what keeps the address back.
func (r *Reconciler) unlock(ctx context.Context, lock *lockv1.AddressLock) error {
	next, keep := r.keptBack(lock)
	if !keep {
		return r.deleteLock(ctx, lock)
	}
	err := r.Client.Update(ctx, next)
	if err != nil {
		return fmt.Errorf("keep lock %s back: %w", lock.Name, err)
	}
	r.ledger.observe(next)
	r.wake(poolOf(lock), false)
	return nil
}

// keptBack is the lock of an address that is not held any more, but not free either.
func (r *Reconciler) keptBack(lock *lockv1.AddressLock) (*lockv1.AddressLock, bool) {
	p := r.ledger.pool(poolOf(lock))
	if p == nil || p.object.DeletionTimestamp != nil {
		return nil, false
	}
	next := lock.DeepCopy()
	next.Annotations = map[string]string{lockv1.ReplicaAnnotation: r.Name}
	if rest := p.spec.Quarantine; rest > 0 {
		until := metav1.NewTime(r.Now().Add(rest).Add(time.Second - 1).Truncate(time.Second))
		next.Spec.State, next.Spec.Until = lockv1.LockQuarantined, &until
	}
	if p.object.Spec.Sticky && lock.Spec.Host != "" {
		next.Spec.State = lockv1.LockReserved
	}
	return next, next.Spec.State != lockv1.LockHeld
}

// deleteLock deletes a lock that still is what is known of it.
func (r *Reconciler) deleteLock(ctx context.Context, lock *lockv1.AddressLock) error {
	uid, version := lock.UID, lock.ResourceVersion
	err := r.Client.Delete(ctx, lock.DeepCopy(), client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete lock %s: %w", lock.Name, err)
	}
	r.ledger.vanish(lock)
	r.wake(poolOf(lock), false)
	return nil
}
