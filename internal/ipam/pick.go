package ipam

import (
	"hash/fnv"
	"net/netip"
)

// pick says which address a request gets; it changes nothing. In order: what is
// reserved for its name, what it wishes, what its host had, what the strategy says.
func (p *Pool) pick(r Request) (int32, Count, error) {
	if n, ok := p.reserved[r.Name]; ok && r.Name != "" {
		return p.pickReserved(r, n)
	}
	if r.Address.IsValid() {
		return p.pickWish(r, r.Address.Unmap())
	}
	if p.spec.Strategy == Sticky && r.Host != "" {
		if n, ok := p.had[r.Host]; ok && p.available(r.Host, n) {
			s, _ := p.lay.find(n)
			return s.rng, n, nil
		}
	}
	if rng, n, ok := p.pickFree(r); ok {
		return rng, n, nil
	}
	if gone, ok := p.idle.order.Min(); ok {
		s, _ := p.lay.find(gone.addr)
		return s.rng, gone.addr, nil
	}
	return 0, Count{}, p.exhausted()
}

func (p *Pool) pickReserved(r Request, n Count) (int32, Count, error) {
	a := n.address(p.lay.v4)
	if r.Address.IsValid() && r.Address.Unmap() != a {
		return 0, n, p.refuse(ErrConflict, r.Address, "is asked for by %s, for which %s is reserved", r.Name, a)
	}
	if h := p.byAddr[n]; h != nil {
		return 0, n, p.held(h, "reserved for %s, ", r.Name)
	}
	s, _ := p.lay.find(n)
	return s.rng, n, nil
}

func (p *Pool) pickWish(r Request, a netip.Addr) (int32, Count, error) {
	n := number(a)
	if why := p.lay.why(a); why != "" {
		return 0, n, p.refuse(ErrOutside, a, "%s", why)
	}
	if h := p.byAddr[n]; h != nil {
		return 0, n, p.held(h, "")
	}
	if name, ok := p.reservedAt[n]; ok {
		return 0, n, p.refuse(ErrReserved, a, "is reserved for %s", name)
	}
	if q, ok := p.resting.at[n]; ok && !p.available(r.Host, n) {
		no := p.refuse(ErrQuarantined, a, "is in quarantine until %s", q.until.UTC().Format("2006-01-02T15:04:05Z"))
		no.RetryAt = q.until
		return 0, n, no
	}
	s, _ := p.lay.find(n)
	return s.rng, n, nil
}

func (p *Pool) held(h *holding, format string, args ...any) *Refusal {
	no := p.refuse(ErrHeld, h.addr.address(p.lay.v4), "is "+format+"held by %s", append(args, h.claim)...)
	no.Holder = h.claim
	return no
}

// available reports whether a host may have n: quarantine keeps an address from others,
// not from the host that had it.
func (p *Pool) available(host string, n Count) bool {
	if _, taken := p.byAddr[n]; taken {
		return false
	}
	if _, taken := p.reservedAt[n]; taken {
		return false
	}
	if q, ok := p.resting.at[n]; ok {
		return host != "" && q.host == host
	}
	_, ok := p.lay.find(n)
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
		rng, n := p.lay.at(pointOf(r.Host).mod(p.lay.total))
		return p.free.from(rng, n)
	}
	s, ok := p.free.first()
	return s.rng, s.from, ok
}

// throws is how often a random address is tried before the next free one after it is
// taken; up to a nearly full pool every free address is thus as likely as any other.
const throws = 16

func (p *Pool) pickRandom() (rng int32, n Count, ok bool) {
	for range throws {
		rng, n = p.lay.at(Count{hi: p.rand.Uint64(), lo: p.rand.Uint64()}.mod(p.lay.total))
		if _, free := p.free.around(rng, n); free {
			return rng, n, true
		}
	}
	return p.free.from(rng, n)
}

// pointOf is a number that follows from a host's name and from nothing else.
func pointOf(host string) Count {
	h := fnv.New128a()
	_, _ = h.Write([]byte(host)) // never fails
	var sum [16]byte
	return number(netip.AddrFrom16([16]byte(h.Sum(sum[:0]))))
}

func (p *Pool) exhausted() *Refusal {
	no := p.refuse(ErrExhausted, netip.Addr{}, "is exhausted: of %s addresses %d are held, %d reserved, %d in quarantine",
		p.lay.total, len(p.byAddr), p.unclaimed(), len(p.resting.at))
	if q, ok := p.resting.order.Min(); ok {
		no.RetryAt = q.until
	}
	return no
}

// unclaimed is how many reserved addresses no claim holds.
func (p *Pool) unclaimed() (n int) {
	for a := range p.reservedAt {
		if p.byAddr[a] == nil {
			n++
		}
	}
	return n
}
