package ipam

import (
	"math"

	"k8s.io/apimachinery/pkg/types"
)

// waitlist holds the claims that a pool had nothing for, first come, first served.
//
// What frees an address wakes as many claims as there are addresses, not all. A claim that was woken and could not
// use what there is (it is gone, or paused, or wants another address) has to hand on its turn, or those behind it would
// wait for an address that lies there free. The news counter bounds that: on one piece of news a claim is woken once.
// A claim that wants a particular address is woken by any news, since that may be free when the pool has nothing else.
type waitlist struct {
	news  uint64
	order []waiter
	in    map[key]bool
}

type waiter struct {
	key
	heard      uint64 // the news that the claim has tried on
	particular bool
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

// newsOf is asked before a claim is looked at, and told to wait in the end.
func (l *ledger) newsOf(pool types.NamespacedName) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waitlist(pool).news
}

// wait puts a claim on the list of a pool. It does not where something has changed since the claim was looked at:
// whoever told of that did not find the claim on the list.
func (l *ledger) wait(pool types.NamespacedName, as waiter) (waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waitlist(pool)
	if w.news != as.heard {
		return false
	}
	if !w.in[as.key] {
		w.in[as.key] = true
		w.order = append(w.order, as)
	}
	return true
}

// wake tells of news. It takes as many claims off the list as there are addresses for; all, when the pool itself changed.
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

// handOn ends the turn of a claim, if it was woken: those behind it get what it left.
func (l *ledger) handOn(k key) []key {
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

// turns is how many of the waiting a pool has addresses for.
func (l *ledger) turns(name types.NamespacedName, waiting int64) int64 {
	p := l.pools[name]
	if p == nil || waiting == 0 {
		return waiting
	}
	return min(waiting, p.available())
}

// take takes off the list the first n of those that have not tried on the latest news, and the particular ones.
func (l *ledger) take(w *waitlist, name types.NamespacedName, n int64) (woken []key) {
	left := w.order[:0]
	for _, a := range w.order {
		if a.heard == w.news || n == 0 && !a.particular {
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

// available is how many addresses a pool could give out now.
func (p *pool) available() int64 {
	s := p.Stats()
	if free := s.Free.Int64(); free < math.MaxInt64-int64(s.Idle) {
		return free + int64(s.Idle)
	}
	return math.MaxInt64
}
