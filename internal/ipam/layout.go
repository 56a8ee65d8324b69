package ipam

import (
	"net/netip"
	"slices"
	"sort"

	"go4.org/netipx"
)

// carveSpans works out what may be allocated: the ranges without what is excluded.
func (l *layout) carveSpans(s Spec, bounds []netipx.IPRange) {
	l.off, l.is = slices.Clone(s.Exclude), map[netip.Addr]string{}
	for i, r := range s.Ranges {
		l.wires = append(l.wires, s.toWire(r))
		if !bounds[i].IsValid() {
			continue
		}
		for a, is := range s.unusableAddresses(r, bounds[i]) {
			l.off = append(l.off, netipx.IPRangeFrom(a, a))
			l.is[a] = is
		}
	}
	for i, b := range bounds {
		if !b.IsValid() {
			continue
		}
		whole := spanOf(b)
		whole.rng = int32(i)
		l.ranges = append(l.ranges, whole)
		left := []span{whole}
		for _, e := range l.off {
			if e.IsValid() && e.From().Is4() == l.v4 {
				left = withoutHole(left, spanOf(e))
			}
		}
		l.usable = append(l.usable, left...)
	}
	l.indexSpans()
}

func withoutHole(spans []span, hole span) (left []span) {
	for _, s := range spans {
		left = append(left, s.subtract(hole)...)
	}
	return left
}

func (l *layout) indexSpans() {
	for i, s := range l.usable {
		l.before = append(l.before, l.total)
		l.byAddr = append(l.byAddr, i)
		l.total = l.total.add(s.size())
	}
	sort.Slice(l.byAddr, func(a, b int) bool { return l.usable[l.byAddr[a]].from.less(l.usable[l.byAddr[b]].from) })
}

// spanWith is the usable span that holds n.
func (l *layout) spanWith(n Count) (span, bool) {
	i := sort.Search(len(l.byAddr), func(i int) bool { return n.less(l.usable[l.byAddr[i]].from) })
	if i == 0 {
		return span{}, false
	}
	s := l.usable[l.byAddr[i-1]]
	return s, s.contains(n)
}

// addressAt is the k-th usable address, k below total.
func (l *layout) addressAt(k Count) (rng int32, n Count) {
	i := sort.Search(len(l.before), func(i int) bool { return k.less(l.before[i]) }) - 1
	return l.usable[i].rng, l.usable[i].from.add(k.sub(l.before[i]))
}

// countAddresses counts the addresses that the ranges span, with what is excluded.
func (l *layout) countAddresses() (c Count) {
	for _, r := range l.ranges {
		c = c.add(r.size())
	}
	return c
}

// rangeOf is the declared range that n lies in, excluded or not.
func (l *layout) rangeOf(n Count) (int32, bool) {
	for _, r := range l.ranges {
		if r.contains(n) {
			return r.rng, true
		}
	}
	return 0, false
}

// whyUnusable says in words why an address is not the pool's to give, or "".
func (l *layout) whyUnusable(a netip.Addr) string {
	switch _, declared := l.rangeOf(numberOf(a)); {
	case a.Is4() != l.v4:
		return "is not " + familyWord(l.v4) + ", as the pool is"
	case !declared:
		return "lies outside its ranges"
	}
	if _, ok := l.spanWith(numberOf(a)); ok {
		return ""
	}
	if is, ok := l.is[a]; ok {
		return "is " + is
	}
	for _, e := range l.off {
		if e.IsValid() && e.Contains(a) && e.From() != e.To() {
			return "is excluded by " + e.String()
		}
	}
	return "is excluded"
}

// Extent is what a pool allocates, without anything about who has it.
type Extent struct{ lay *layout }

// ExtentOf works it out; it fails with what Validate says.
func ExtentOf(s Spec) (Extent, error) {
	l, err := newLayout(s)
	return Extent{l}, err
}

// Why says in words why an address is not one the pool allocates, as the end of a
// sentence about the address, or "".
func (e Extent) Why(a netip.Addr) string { return e.lay.whyUnusable(a.Unmap()) }

// Extent is what the pool allocates now.
func (p *Pool) Extent() Extent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Extent{p.lay}
}
