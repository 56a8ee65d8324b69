package ipam

import (
	"time"

	"github.com/google/btree"
)

// freeSet is the set of free addresses as disjoint spans. What is free in one stretch
// is one element, so its size follows what is taken, not what there is.
type freeSet struct {
	spans *btree.BTreeG[span]
	total Count
}

// degree of the tree: measured best between 16 and 64 on sequential and random claims.
const degree = 32

func newFreeSet(usable []span) *freeSet {
	f := &freeSet{spans: btree.NewG(degree, bySpan)}
	for _, s := range usable {
		f.spans.ReplaceOrInsert(s)
		f.total = f.total.add(s.size())
	}
	return f
}

// firstSpan is the lowest free span of the first range that has one.
func (f *freeSet) firstSpan() (span, bool) { return f.spans.Min() }

// spanAround is the free span that holds n, if any.
func (f *freeSet) spanAround(rng int32, n Count) (found span, ok bool) {
	f.spans.DescendLessOrEqual(span{rng: rng, from: n}, func(s span) bool {
		found, ok = s, s.rng == rng && s.contains(n)
		return false
	})
	return found, ok
}

// nextFree is the first free address at n or after it; past the last one it starts anew.
func (f *freeSet) nextFree(rng int32, n Count) (int32, Count, bool) {
	if _, ok := f.spanAround(rng, n); ok {
		return rng, n, true
	}
	next, ok := f.spanAfter(rng, n)
	if !ok {
		next, ok = f.firstSpan()
	}
	return next.rng, next.from, ok
}

func (f *freeSet) spanAfter(rng int32, n Count) (found span, ok bool) {
	f.spans.AscendGreaterOrEqual(span{rng: rng, from: n}, func(s span) bool {
		found, ok = s, true
		return false
	})
	return found, ok
}

// removeFree removes n and reports whether it was free.
func (f *freeSet) removeFree(rng int32, n Count) bool {
	s, ok := f.spanAround(rng, n)
	if !ok {
		return false
	}
	f.total = f.total.prev()
	if s.from == n {
		f.spans.Delete(s)
	} else {
		f.spans.ReplaceOrInsert(span{rng, s.from, n.prev()})
	}
	if s.to != n {
		f.spans.ReplaceOrInsert(span{rng, n.next(), s.to})
	}
	return true
}

// returnFree adds n and joins it with its neighbours; adding what is there changes nothing.
func (f *freeSet) returnFree(rng int32, n Count) {
	if _, ok := f.spanAround(rng, n); ok {
		return
	}
	f.total = f.total.next()
	s := span{rng, n, n}
	if right, ok := f.spanAfter(rng, n); ok && right.rng == rng && right.from == n.next() {
		f.spans.Delete(right)
		s.to = right.to
	}
	if !n.IsZero() {
		if left, ok := f.spanAround(rng, n.prev()); ok {
			s.from = left.from // replaces the left one
		}
	}
	f.spans.ReplaceOrInsert(s)
}

// rest is an address that no claim holds and that is kept back.
type rest struct {
	until time.Time // end of quarantine; of an idle one, since when it is idle
	addr  Count
	host  string
}

func byTime(a, b rest) bool {
	if !a.until.Equal(b.until) {
		return a.until.Before(b.until)
	}
	return a.addr.less(b.addr)
}

// kept is a set of such addresses, by time and by address.
type kept struct {
	order *btree.BTreeG[rest]
	at    map[Count]rest
}

func newKept() kept {
	return kept{order: btree.NewG(degree, byTime), at: map[Count]rest{}}
}

func (k kept) keepRest(r rest) {
	k.removeRest(r.addr)
	k.order.ReplaceOrInsert(r)
	k.at[r.addr] = r
}

func (k kept) removeRest(n Count) {
	if r, ok := k.at[n]; ok {
		k.order.Delete(r)
		delete(k.at, n)
	}
}
