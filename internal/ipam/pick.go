package ipam

import (
	"hash/fnv"
	"net/netip"
)

// pickAddress says which address a request gets; it changes nothing. In order: what is
// reserved for its name, what it wishes, what its host had, what the strategy says.
func (p *Pool) pickAddress(r Request) (int32, Count, error) {
	if n, ok := p.reserved[r.Name]; ok && r.Name != "" {
		return p.pickReserved(r, n)
	}
	if r.Address.IsValid() {
		return p.pickWish(r, r.Address.Unmap())
	}
	if p.spec.Strategy == Sticky && r.Host != "" {
		if n, ok := p.had[r.Host]; ok && p.isAvailable(r.Host, n) {
			s, _ := p.lay.spanWith(n)
			return s.rng, n, nil
		}
	}
	if rng, n, ok := p.pickFree(r); ok {
		return rng, n, nil
	}
	if gone, ok := p.idle.order.Min(); ok {
		s, _ := p.lay.spanWith(gone.addr)
		return s.rng, gone.addr, nil
	}
	return 0, Count{}, p.refuseExhausted()
}

func (p *Pool) pickReserved(r Request, n Count) (int32, Count, error) {
	a := n.toAddress(p.lay.v4)
	if r.Address.IsValid() && r.Address.Unmap() != a {
		return 0, n, p.newRefusal(ErrConflict, r.Address, "is asked for by %s, for which %s is reserved", r.Name, a)
	}
	if h := p.byAddr[n]; h != nil {
		return 0, n, p.refuseHeld(h, "reserved for %s, ", r.Name)
	}
	s, _ := p.lay.spanWith(n)
	return s.rng, n, nil
}

func (p *Pool) pickWish(r Request, a netip.Addr) (int32, Count, error) {
	n := numberOf(a)
	if why := p.lay.whyUnusable(a); why != "" {
		return 0, n, p.newRefusal(ErrOutside, a, "%s", why)
	}
	if h := p.byAddr[n]; h != nil {
		return 0, n, p.refuseHeld(h, "")
	}
	if name, ok := p.reservedAt[n]; ok {
		return 0, n, p.newRefusal(ErrReserved, a, "is reserved for %s", name)
	}
	if q, ok := p.resting.at[n]; ok && !p.isAvailable(r.Host, n) {
		no := p.newRefusal(ErrQuarantined, a, "is in quarantine until %s", q.until.UTC().Format("2006-01-02T15:04:05Z"))
		no.RetryAt = q.until
		return 0, n, no
	}
	s, _ := p.lay.spanWith(n)
	return s.rng, n, nil
}

func (p *Pool) refuseHeld(h *holding, format string, args ...any) *Refusal {
	no := p.newRefusal(ErrHeld, h.addr.toAddress(p.lay.v4), "is "+format+"held by %s", append(args, h.claim)...)
	no.Holder = h.claim
	return no
}

// isAvailable reports whether a host may have n: quarantine keeps an address from others,
// not from the host that had it.
func (p *Pool) isAvailable(host string, n Count) bool {
	if _, taken := p.byAddr[n]; taken {
		return false
	}
	if _, taken := p.reservedAt[n]; taken {
		return false
	}
	if q, ok := p.resting.at[n]; ok {
		return host != "" && q.host == host
	}
	_, ok := p.lay.spanWith(n)
	return ok
}

func (p *Pool) pickFree(r Request) (int32, Count, bool) {
	if p.free.total.IsZero() {
		return 0, Count{}, false
	}
	switch {
	case p.spec.Strategy == Random:
		return p.pickRandom()
	case p.spec.Strategy == Sticky && r.Host != "":
		rng, n := p.lay.addressAt(pointOf(r.Host).remainder(p.lay.total))
		return p.free.nextFree(rng, n)
	}
	s, ok := p.free.firstSpan()
	return s.rng, s.from, ok
}

// throws is how often a random address is tried before the next free one after it is
// taken; up to a nearly full pool every free address is thus as likely as any other.
const throws = 16

func (p *Pool) pickRandom() (rng int32, n Count, ok bool) {
	for range throws {
		rng, n = p.lay.addressAt(Count{hi: p.rand.Uint64(), lo: p.rand.Uint64()}.remainder(p.lay.total))
		if _, free := p.free.spanAround(rng, n); free {
			return rng, n, true
		}
	}
	return p.free.nextFree(rng, n)
}

// pointOf is a number that follows from a host's name and from nothing else.
func pointOf(host string) Count {
	h := fnv.New128a()
	_, _ = h.Write([]byte(host)) // never fails
	var sum [16]byte
	return numberOf(netip.AddrFrom16([16]byte(h.Sum(sum[:0]))))
}

func (p *Pool) refuseExhausted() *Refusal {
	no := p.newRefusal(ErrExhausted, netip.Addr{}, "is exhausted: of %s addresses %d are held, %d reserved, %d in quarantine",
		p.lay.total, len(p.byAddr), p.countUnclaimed(), len(p.resting.at))
	if q, ok := p.resting.order.Min(); ok {
		no.RetryAt = q.until
	}
	return no
}

// countUnclaimed counts the reserved addresses that no claim holds.
func (p *Pool) countUnclaimed() (n int) {
	for a := range p.reservedAt {
		if p.byAddr[a] == nil {
			n++
		}
	}
	return n
}
