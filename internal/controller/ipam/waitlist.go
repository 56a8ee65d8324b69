package ipam

import (
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// waitlist holds the claims that a pool had no address for, in the order in which they were created. Free addresses are for those
// first: a later claim waits as long as there are not more of them than claims before it.
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
	pool       types.NamespacedName
	created    time.Time
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
func (l *ledger) wait(as waiter) (waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waitlist(as.pool)
	if w.news != as.news {
		return false
	}
	if !w.in[as.key] {
		w.in[as.key] = true
		at := sort.Search(len(w.order), func(i int) bool { return as.created.Before(w.order[i].created) })
		w.order = slices.Insert(w.order, at, as)
	}
	return true
}

// leave takes a claim off the list of a pool: it has its address, or is gone, or paused.
func (l *ledger) leave(pool types.NamespacedName, k key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.waiting[pool]; w != nil && w.in[k] {
		delete(w.in, k)
		w.order = slices.DeleteFunc(w.order, func(a waiter) bool { return a.key == k })
	}
}

// leaveAll takes a claim that is gone off every list.
func (l *ledger) leaveAll(k key) {
	for _, pool := range l.waitedFor(k) {
		l.leave(pool, k)
	}
}

func (l *ledger) waitedFor(k key) (pools []types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for pool, w := range l.waiting {
		if w.in[k] {
			pools = append(pools, pool)
		}
	}
	return pools
}

// ahead is how many claims have a right to an address of a pool before a claim.
func (l *ledger) ahead(of waiter) (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := func(a waiter) bool {
		return a.pool == of.pool && a.key != of.key && !a.particular && a.created.Before(of.created)
	}
	for _, a := range l.waitlist(of.pool).order {
		if !a.created.Before(of.created) {
			break
		}
		if before(a) {
			n++
		}
	}
	for _, a := range l.woken {
		if before(a) {
			n++
		}
	}
	return n
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
	return l.take(w, n)
}

// pass ends the turn of a claim that was woken, and takes the claims off the list that get what it left.
func (l *ledger) pass(k key) []key {
	l.mu.Lock()
	defer l.mu.Unlock()
	as, woken := l.woken[k]
	w := l.waiting[as.pool]
	if !woken || w == nil {
		return nil
	}
	delete(l.woken, k)
	return l.take(w, l.turns(as.pool, int64(len(w.order))))
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
func (l *ledger) take(w *waitlist, n int64) (woken []key) {
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
		l.woken[a.key] = a
		woken = append(woken, a.key)
	}
	clear(w.order[len(left):])
	w.order = left
	return woken
}
