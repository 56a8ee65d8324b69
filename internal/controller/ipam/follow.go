package ipam

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	capi "github.com/lifecycle-agent/lifecycle-agent/api/capi/v1beta2"
	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// listen has the ledger follow locks and address objects.
func (r *Reconciler) listen(mgr ctrl.Manager) error {
	handlers := map[client.Object]toolscache.ResourceEventHandler{
		&lockv1.AddressLock{}: following(r.lockChanged, r.lockGone),
		&metal3.IPAddress{}: following(func(o *metal3.IPAddress) { r.addressSeen(native{}.of(o)) },
			func(o *metal3.IPAddress) { r.addressGone(native{}.of(o)) }),
	}
	if r.Contract {
		handlers[&capi.IPAddress{}] = following(func(o *capi.IPAddress) { r.addressSeen(contract{}.of(o)) },
			func(o *capi.IPAddress) { r.addressGone(contract{}.of(o)) })
	}
	for o, handler := range handlers {
		informer, err := mgr.GetCache().GetInformer(context.Background(), o, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T: %w", o, err)
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watch %T: %w", o, err)
		}
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
