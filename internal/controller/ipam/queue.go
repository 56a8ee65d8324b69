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

// waitlist holds the claims that a pool had no address for, first come, first served.
//
// A freed address wakes as many claims as there are addresses, not all. A claim that was woken and does not take its address (it is
// gone, or paused, or asks for another) passes its turn to the next claim. The news counter bounds that: each change of a pool wakes
// a claim at most once. A claim that asks for a particular address is woken by any change, since that address may be free when the
// pool has no other.
type waitlist struct {
	news  uint64
	order []waiter
	in    map[key]bool
}

type waiter struct {
	key
	news       uint64 // the news that the claim was last tried with
	particular bool   // the claim asks for one address
}

// waitlist is the list of a pool.
func (l *ledger) waitlist(pool types.NamespacedName) *waitlist {
	w := l.waiting[pool]
	if w == nil {
		w = &waitlist{in: map[key]bool{}}
		l.waiting[pool] = w
	}
	return w
}

// newsOf is read before a claim is tried, and passed to wait if it gets no address.
func (l *ledger) newsOf(pool types.NamespacedName) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waitlist(pool).news
}

// wait puts a claim on the list of a pool, unless the pool has changed since the claim was tried: that change did not find the
// claim on the list.
func (l *ledger) wait(pool types.NamespacedName, as waiter) (waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waitlist(pool)
	if w.news != as.news {
		return false
	}
	if !w.in[as.key] {
		w.in[as.key] = true
		w.order = append(w.order, as)
	}
	return true
}

// wake takes claims off the list of a pool that has changed: as many as it has addresses for, or all.
func (l *ledger) wake(name types.NamespacedName, all bool) []key {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting[name]
	if w == nil {
		return nil
	}
	w.news++
	n := int64(len(w.order))
	if !all {
		n = l.turns(name, n)
	}
	return l.take(w, name, n)
}

// pass ends the turn of a claim that was woken, and takes the claims off the list that get what it left.
func (l *ledger) pass(k key) []key {
	l.mu.Lock()
	defer l.mu.Unlock()
	name, woken := l.woken[k]
	w := l.waiting[name]
	if !woken || w == nil {
		return nil
	}
	delete(l.woken, k)
	return l.take(w, name, l.turns(name, int64(len(w.order))))
}

// turns is how many of the waiting claims a pool has addresses for.
func (l *ledger) turns(name types.NamespacedName, waiting int64) int64 {
	s := l.supplies[name]
	if s == nil || waiting == 0 {
		return waiting
	}
	return min(waiting, s.available())
}

// take takes off the list the first n claims that were not tried with the latest news, and all that ask for a particular address.
func (l *ledger) take(w *waitlist, name types.NamespacedName, n int64) (woken []key) {
	left := w.order[:0]
	for _, a := range w.order {
		if a.news == w.news || n == 0 && !a.particular {
			left = append(left, a)
			continue
		}
		if !a.particular {
			n--
		}
		delete(w.in, a.key)
		l.woken[a.key] = name
		woken = append(woken, a.key)
	}
	clear(w.order[len(left):])
	w.order = left
	return woken
}
