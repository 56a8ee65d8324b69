package ipam

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	capi "github.com/lifecycle-agent/lifecycle-agent/api/capi/v1beta2"
	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// workers is how many claims of a kind are served at a time. Most of the time of each is waiting for the API.
const workers = 8

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// queues are where one look asks for another. Before a controller runs, what is asked for it is kept.
type queues struct {
	mu     sync.Mutex
	claims map[string]queue // by kind
	pools  queue
	early  []func()
}

func (q *queues) addClaim(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if to := q.claims[k.kind]; to != nil {
		to.Add(reconcile.Request{NamespacedName: k.object()})
		return
	}
	q.early = append(q.early, func() { q.addClaim(k) })
}

func (q *queues) addClaimAfter(k key, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if to := q.claims[k.kind]; to != nil {
		to.AddAfter(reconcile.Request{NamespacedName: k.object()}, wait)
		return
	}
	q.early = append(q.early, func() { q.addClaimAfter(k, wait) })
}

func (q *queues) addPool(name types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pools != nil {
		q.pools.Add(reconcile.Request{NamespacedName: name})
		return
	}
	q.early = append(q.early, func() { q.addPool(name) })
}

// tap is a source that gives nothing, but gets hold of the queue of its controller.
func (q *queues) tap(take func(queue)) source.Source {
	return source.Func(func(_ context.Context, to queue) error {
		q.mu.Lock()
		take(to)
		early := q.early
		q.early = nil
		q.mu.Unlock()
		for _, again := range early {
			again()
		}
		return nil
	})
}

// wake lets claims that wait for a pool try again, and has the pool's counts written.
func (r *Reconciler) wake(name types.NamespacedName, all bool) {
	for _, k := range r.ledger.wake(name, all) {
		r.queues.addClaim(k)
	}
	r.queues.addPool(name)
}

// SetupWithManager adds one controller for pools and one for each kind of claim.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.queues.claims = map[string]queue{}
	err := ctrl.NewControllerManagedBy(mgr).Named("ippool").
		For(&metal3.IPPool{}, builder.WithPredicates(changed())).
		WatchesRawSource(r.queues.tap(func(q queue) { r.queues.pools = q })).
		Complete(reconcile.Func(func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
			return r.reconcilePool(ctx, q.NamespacedName)
		}))
	if err != nil {
		return fmt.Errorf("watch pools: %w", err)
	}
	watched := map[string]client.Object{"IPClaim": &metal3.IPClaim{}, "IPAddressClaim": &capi.IPAddressClaim{}}
	for _, k := range r.kinds() {
		kindName := k.key(types.NamespacedName{}).kind
		err := ctrl.NewControllerManagedBy(mgr).Named("ipam-"+kindName).
			Watches(watched[kindName], &inTurn{}, builder.WithPredicates(changed())).
			WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
			WatchesRawSource(r.queues.tap(func(q queue) { r.queues.claims[kindName] = q })).
			Complete(reconcile.Func(func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
				return r.reconcileClaim(ctx, k, q.NamespacedName)
			}))
		if err != nil {
			return fmt.Errorf("watch claims: %w", err)
		}
	}
	return r.listen(mgr)
}

// changed leaves out what this controller writes itself: the status. Only a status that lost its address is
// somebody else's doing.
func changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		a, b := e.ObjectOld, e.ObjectNew
		return a.GetGeneration() != b.GetGeneration() || a.GetUID() != b.GetUID() || lostAddress(a, b) ||
			(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil) ||
			!equality.Semantic.DeepEqual(a.GetAnnotations(), b.GetAnnotations()) ||
			!equality.Semantic.DeepEqual(a.GetLabels(), b.GetLabels()) ||
			!equality.Semantic.DeepEqual(a.GetFinalizers(), b.GetFinalizers())
	}}
}

func lostAddress(before, after client.Object) bool {
	switch a := after.(type) {
	case *metal3.IPClaim:
		b := before.(*metal3.IPClaim)
		return !equality.Semantic.DeepEqual(a.Status.Address, b.Status.Address) && b.Status.Address != nil
	case *capi.IPAddressClaim:
		b := before.(*capi.IPAddressClaim)
		return !equality.Semantic.DeepEqual(a.Status.AddressRef, b.Status.AddressRef) && b.Status.AddressRef != nil
	}
	return false
}

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
