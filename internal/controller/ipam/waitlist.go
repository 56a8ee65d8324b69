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
// Whether a claim is woken follows from the state, not from an event alone: as long as a pool has more addresses than claims that were
// woken for them, the next claims that take any address are woken. That is decided when an address of the pool's network is freed,
// when a claim ends its turn (it may have given back what it was promised), and once a minute. A claim that was woken and does not take
// its address (it is gone, or paused, or asks for another) so passes its turn to the next one. A claim that asks for one address, or
// whose pool is closed or missing, is woken by news of the pool only. Without news a claim is woken wakesWithoutNews times at most, so
// that no claim spins.
type waitlist struct {
	news  uint64
	order []waiter
	in    map[key]bool
	// woken is how many claims that take any address were woken and have not been tried yet.
	woken int64
}

// wakesWithoutNews is how often a claim is woken for a free address that it does not get, until there is news of its pool.
const wakesWithoutNews = 8

type waiter struct {
	key
	pool       types.NamespacedName
	created    time.Time
	news       uint64 // the news that the claim was last tried with
	wakes      int    // how often it was woken since that news
	particular bool   // the claim asks for one address
	any        bool   // the claim takes any address, and the pool had none for it
}

// waitlistOf is the list of a pool.
func (l *ledger) waitlistOf(pool types.NamespacedName) *waitlist {
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
	return l.waitlistOf(pool).news
}

// addWaiter puts a claim on the list of a pool. False says that there was news of the pool since the claim was tried, and that nothing but
// news wakes such a claim: it has to be tried again.
func (l *ledger) addWaiter(as waiter) (waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waitlistOf(as.pool)
	if w.news != as.news && !as.any {
		return false
	}
	if before, ok := l.woken[as.key]; ok && before.pool == as.pool && before.news == as.news {
		as.wakes = before.wakes
	}
	if !w.in[as.key] {
		w.in[as.key] = true
		at := sort.Search(len(w.order), func(i int) bool { return as.created.Before(w.order[i].created) })
		w.order = slices.Insert(w.order, at, as)
	}
	return true
}

// removeWaiter takes a claim off the list of a pool: it has its address, or is gone, or paused.
func (l *ledger) removeWaiter(pool types.NamespacedName, k key) {
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
		l.removeWaiter(pool, k)
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

// countAhead counts the claims that have a right to an address of a pool before a claim.
func (l *ledger) countAhead(of waiter) (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := func(a waiter) bool {
		return a.pool == of.pool && a.key != of.key && !a.particular && a.created.Before(of.created)
	}
	for _, a := range l.waitlistOf(of.pool).order {
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

// wakeWaiters takes claims off the list of a pool of which there is news: as many as it has addresses for, or all.
func (l *ledger) wakeWaiters(name types.NamespacedName, all bool) []key {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting[name]
	if w == nil {
		return nil
	}
	w.news++
	n := int64(len(w.order))
	if !all {
		n = l.countTurns(name, w)
	}
	return l.takeWaiters(w, n)
}

// wakeAgain is wake for each pool that has addresses for claims that wait for it.
func (l *ledger) wakeAgain() (woken []key) {
	for _, name := range l.waitedForNow() {
		woken = append(woken, l.wakeWaiters(name, false)...)
	}
	return woken
}

// waitedForNow are the pools that are known and that claims wait for.
func (l *ledger) waitedForNow() (names []types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, w := range l.waiting {
		if len(w.order) > 0 && l.supplies[name] != nil {
			names = append(names, name)
		}
	}
	return names
}

// endTurn ends the turn of a claim, if it was woken, and takes the claims off the lists that get what it left. The pool is the one that
// the claim names now.
func (l *ledger) endTurn(k key, pool types.NamespacedName) (woken []key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, ok := l.woken[k]
	if ok {
		delete(l.woken, k)
		if w := l.waiting[before.pool]; w != nil && !before.particular {
			w.woken--
		}
		woken = l.wakeForSurplus(before.pool)
	}
	if before.pool != pool {
		woken = append(woken, l.wakeForSurplus(pool)...)
	}
	return woken
}

// wakeForSurplus takes claims off the list of a pool that has more addresses than claims that were woken for them.
func (l *ledger) wakeForSurplus(name types.NamespacedName) []key {
	w := l.waiting[name]
	if w == nil || l.supplies[name] == nil {
		return nil
	}
	if n := l.countTurns(name, w); n > 0 {
		return l.takeWaiters(w, n)
	}
	return nil
}

// countTurns counts the waiting claims that a pool has addresses for, beside those that were woken and are on their way.
func (l *ledger) countTurns(name types.NamespacedName, w *waitlist) int64 {
	s, waiting := l.supplies[name], int64(len(w.order))
	if s == nil || waiting == 0 {
		return waiting
	}
	return min(waiting, s.countAvailable()-w.woken)
}

// takeWaiters takes off the list the first n claims that may be woken, and all that ask for a particular address.
func (l *ledger) takeWaiters(w *waitlist, n int64) (woken []key) {
	left := w.order[:0]
	for _, a := range w.order {
		if a.news != w.news {
			a.wakes = 0
		}
		if may := a.news != w.news || a.any && a.wakes < wakesWithoutNews; !may || n <= 0 && !a.particular {
			left = append(left, a)
			continue
		}
		a.news, a.wakes = w.news, a.wakes+1
		if !a.particular {
			n--
			w.woken++
		}
		delete(w.in, a.key)
		l.woken[a.key] = a
		woken = append(woken, a.key)
	}
	clear(w.order[len(left):])
	w.order = left
	return woken
}
