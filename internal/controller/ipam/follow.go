package ipam

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	capi "github.com/lifecycle-agent/lifecycle-agent/api/capi/v1beta2"
	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// listenToAddresses has the ledger follow address objects. It is called before the manager starts, so that these are listed first:
// the manager starts its controllers, and they the other lists, when it has what it was asked for until then.
func (r *Reconciler) listenToAddresses(from cache.Cache) error {
	natives := following(func(o *metal3.IPAddress) { r.addressSeen(native{}.of(o)) },
		func(o *metal3.IPAddress) { r.addressGone(native{}.of(o)) })
	if err := follow(from, &metal3.IPAddress{}, natives); err != nil || !r.Contract {
		return err
	}
	contracts := following(func(o *capi.IPAddress) { r.addressSeen(contract{}.of(o)) },
		func(o *capi.IPAddress) { r.addressGone(contract{}.of(o)) })
	return follow(from, &capi.IPAddress{}, contracts)
}

// listenToLocks has the ledger follow locks. It is called when the controllers start, so that locks and claims are listed at one time,
// and before the first of them works, so that no lock goes unheard.
func (r *Reconciler) listenToLocks(from cache.Cache) error {
	return follow(from, &lockv1.AddressLock{}, following(r.lockChanged, r.lockGone))
}

// follow calls a handler for the objects of one type, and does not wait for them.
func follow(from cache.Cache, what client.Object, handler toolscache.ResourceEventHandler) error {
	informer, err := from.GetInformer(context.Background(), what, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch %T: %w", what, err)
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("watch %T: %w", what, err)
	}
	return nil
}

// following calls one function for an object as it is now, another when it is gone.
func following[T client.Object](seen, gone func(T)) toolscache.ResourceEventHandlerFuncs {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { seen(o.(T)) },
		UpdateFunc: func(_, o any) { seen(o.(T)) },
		DeleteFunc: func(o any) {
			if last, unknown := o.(toolscache.DeletedFinalStateUnknown); unknown {
				o = last.Obj
			}
			if o, ok := o.(T); ok {
				gone(o)
			}
		},
	}
}

// lockChanged follows what another replica, or an administrator, did to a lock.
func (r *Reconciler) lockChanged(lock *lockv1.AddressLock) {
	if !r.ready() {
		return
	}
	expected := r.ledger.expected(lock)
	if !r.ledger.observe(lock) {
		return
	}
	r.peers.hear(lock)
	switch {
	case lock.Spec.Claim == nil || expected:
	case r.peers.wrote(lock) && r.Now().Sub(lock.CreationTimestamp.Time) < untilTaken:
		r.queues.addClaimAfter(keyOf(lock.Spec.Claim), untilTaken) // who made it goes on with it, if it lives
	default:
		r.queues.addClaim(keyOf(lock.Spec.Claim))
	}
	if lock.Spec.State == lockv1.LockHeld {
		r.queues.addPool(poolOf(lock)) // nothing has become free
		return
	}
	r.wake(poolOf(lock), false)
}

func (r *Reconciler) lockGone(lock *lockv1.AddressLock) {
	if !r.ready() || !r.ledger.vanish(lock) {
		return
	}
	if lock.Spec.Claim != nil {
		r.queues.addClaim(keyOf(lock.Spec.Claim))
	}
	r.wake(poolOf(lock), false)
}

func (r *Reconciler) addressSeen(h held) {
	if r.ready() && h.GetDeletionTimestamp() == nil {
		r.note(h)
	}
}

func (r *Reconciler) addressGone(h held) {
	if r.ready() {
		r.ledger.unnote(h)
		r.queues.addClaim(h.claim)
	}
}

// ready says that the ledger has been loaded. What comes before is in the cache that it is loaded from.
func (r *Reconciler) ready() bool {
	r.loading.Lock()
	defer r.loading.Unlock()
	return r.loaded
}
