package ipam

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
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
		to.Add(reconcile.Request{NamespacedName: k.objectKey()})
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

// tapQueue returns a source without events that takes hold of its controller's queue.
func (q *queues) tapQueue(take func(queue)) source.Source {
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

// requeueWaiting requeues claims that wait for a pool: as many as it has addresses for, or all of them. It leaves the pool alone, because
// the reconciliation of a pool calls it too.
func (r *Reconciler) requeueWaiting(name types.NamespacedName, all bool) {
	for _, k := range r.ledger.wakeWaiters(name, all) {
		r.queues.addClaim(k)
	}
}

// requeueAfterRelease requeues what a lock concerned that keeps its address no longer, or from fewer claims: the claims that wait for
// a pool which has that address, and these pools, whose counts have changed. Several pools of a network may have it, in several
// namespaces.
func (r *Reconciler) requeueAfterRelease(lock *lockv1.AddressLock) {
	shared := r.ledger.poolsWithAddress(poolOf(lock), lock.Spec.Network, addressOf(lock))
	r.wakeEach(shared)
	for _, name := range shared {
		r.queues.addPool(name)
	}
}

// requeuePools requeues the pools whose counts a lock has changed.
func (r *Reconciler) requeuePools(lock *lockv1.AddressLock) {
	for _, name := range r.ledger.poolsWithAddress(poolOf(lock), lock.Spec.Network, addressOf(lock)) {
		r.queues.addPool(name)
	}
}

func (r *Reconciler) wakeEach(pools []types.NamespacedName) {
	for _, name := range pools {
		r.requeueWaiting(name, false)
	}
}

// waitingPoll is how often claims that wait are tried although nothing has told of a free address: a freed address wakes them at once.
const waitingPoll = time.Minute

// pollWaiting wakes the claims that wait for a pool with free addresses, until the operator ends.
func (r *Reconciler) pollWaiting(ctx context.Context) error {
	tick := time.NewTicker(waitingPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			for _, k := range r.ledger.wakeAgain() {
				r.queues.addClaim(k)
			}
		}
	}
}
