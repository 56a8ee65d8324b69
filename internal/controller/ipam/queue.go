package ipam

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// queues are the work queues of the controllers, for one reconciliation to request another. A request for a controller that has not
// started is kept until it has.
type queues struct {
	mu      sync.Mutex
	claims  map[string]queue // by kind
	pools   queue
	pending []func()
}

func (q *queues) addClaim(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if to := q.claims[k.kind]; to != nil {
		to.Add(reconcile.Request{NamespacedName: k.object()})
		return
	}
	q.pending = append(q.pending, func() { q.addClaim(k) })
}

func (q *queues) addPool(name types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pools != nil {
		q.pools.Add(reconcile.Request{NamespacedName: name})
		return
	}
	q.pending = append(q.pending, func() { q.addPool(name) })
}

// tap is a source without events that takes hold of its controller's queue.
func (q *queues) tap(take func(queue)) source.Source {
	return source.Func(func(_ context.Context, to queue) error {
		q.mu.Lock()
		take(to)
		pending := q.pending
		q.pending = nil
		q.mu.Unlock()
		for _, request := range pending {
			request()
		}
		return nil
	})
}

// wake requeues claims that wait for a pool: as many as it has addresses for, or all of them. It leaves the pool alone, because
// the reconciliation of a pool calls it too.
func (r *Reconciler) wake(name types.NamespacedName, all bool) {
	for _, k := range r.ledger.wake(name, all) {
		r.queues.addClaim(k)
	}
}

// freed requeues the claims that wait for an address of a pool, and the pool, whose counts have changed.
func (r *Reconciler) freed(name types.NamespacedName) {
	r.wake(name, false)
	r.queues.addPool(name)
}
