package ipam

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

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
