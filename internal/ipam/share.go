package ipam

// Share is one of several parts that a pool is taken from at one time: those who ask with the same Of and another Nth
// are given other addresses as long as there are enough. It says what is preferred, not what is possible; the zero
// Share prefers nothing.
type Share struct{ Nth, Of int }

// stretch is how many addresses in a row belong to one share. Shares that are used up at about the same pace leave the
// holes of a few stretches between them, however many addresses are held.
const stretch = 16

// holes is how many free spans are looked at for one with an address of the share, before any address will do.
const holes = 64

// firstOf is the lowest free address of a share; where that has none near the lowest, the lowest of all.
func (f *freeSet) firstOf(sh Share) (rng int32, n Count, ok bool) {
	left := holes
	if sh.Of > 1 {
		f.spans.Ascend(func(s span) bool {
			rng = s.rng
			n, ok = s.firstOf(sh)
			left--
			return !ok && left > 0
		})
	}
	if ok {
		return rng, n, true
	}
	s, ok := f.first()
	return s.rng, s.from, ok
}

// firstOf is the lowest address of a span that belongs to a share.
func (s span) firstOf(sh Share) (Count, bool) {
	of := uint64(sh.Of)
	ahead := (uint64(sh.Nth) + of - s.from.lo/stretch%of) % of
	if ahead == 0 {
		return s.from, true
	}
	way := CountOf(ahead*stretch - s.from.lo%stretch)
	return s.from.add(way), !s.to.sub(s.from).less(way)
}
