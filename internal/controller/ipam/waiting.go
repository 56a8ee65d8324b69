package ipam

import (
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// waitlist holds the claims that a pool had nothing for, first come, first served.
type waitlist struct {
	order []key
	in    map[key]bool
}

// wait puts a claim on the list of a pool.
func (l *ledger) wait(pool types.NamespacedName, k key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting[pool]
	if w == nil {
		w = &waitlist{in: map[key]bool{}}
		l.waiting[pool] = w
	}
	if !w.in[k] {
		w.in[k] = true
		w.order = append(w.order, k)
	}
}

// wake takes as many claims off the list as there are addresses for; all, when the pool itself changed.
func (l *ledger) wake(name types.NamespacedName, all bool) []key {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting[name]
	if w == nil || len(w.order) == 0 {
		return nil
	}
	n := len(w.order)
	if p := l.pools[name]; p != nil && !all {
		n = int(min(int64(n), p.available()))
	}
	woken := slices.Clone(w.order[:n])
	w.order = slices.Delete(w.order, 0, n)
	for _, k := range woken {
		delete(w.in, k)
	}
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
