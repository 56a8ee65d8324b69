package ipam

import (
	"net/netip"
	"time"
)

// Release ends a claim's holding at once and says what it was; a claim that holds
// nothing is no error. The address rests as long as the pool's quarantine says.
func (p *Pool) Release(claim string) (Lease, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tidy()
	h := p.byClaim[claim]
	if h == nil {
		return Lease{}, false
	}
	l := p.lease(h)
	p.drop(h)
	p.retire(h.host, h.addr, p.now().Add(p.spec.Quarantine))
	return l, true
}

func (p *Pool) drop(h *holding) {
	delete(p.byClaim, h.claim)
	delete(p.byAddr, h.addr)
	p.changes++
}

// retire puts an address that lost its holder where it belongs.
func (p *Pool) retire(host string, n Count, until time.Time) {
	s, usable := p.lay.find(n)
	if !usable {
		return
	}
	if host != "" && p.spec.Strategy == Sticky {
		p.had[host] = n
	}
	if _, kept := p.reservedAt[n]; kept {
		return
	}
	if until.After(p.now()) {
		p.resting.put(rest{until: until, addr: n, host: host})
		return
	}
	p.settle(s.rng, rest{until: until, addr: n, host: host})
}

// settle makes an address free, or keeps it apart for the host that had it.
func (p *Pool) settle(rng int32, r rest) {
	if r.host != "" && p.spec.Strategy == Sticky && p.had[r.host] == r.addr {
		p.free.take(rng, r.addr)
		p.idle.put(r)
		return
	}
	p.free.give(rng, r.addr)
}

// tidy ends the quarantines that are over.
func (p *Pool) tidy() {
	for {
		r, ok := p.resting.order.Min()
		if !ok || r.until.After(p.now()) {
			return
		}
		p.resting.remove(r.addr)
		p.changes++
		if s, usable := p.lay.find(r.addr); usable {
			p.settle(s.rng, r)
		}
	}
}

// Quarantine keeps an address nobody holds from everybody until a time: it was seen in
// use by a stranger, or somebody restored what is known of an earlier release.
func (p *Pool) Quarantine(a netip.Addr, host string, until time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tidy()
	a = a.Unmap()
	if why := p.lay.why(a); why != "" {
		return p.refuse(ErrOutside, a, "%s", why)
	}
	n := number(a)
	if h := p.byAddr[n]; h != nil {
		return p.held(h, "")
	}
	if name, ok := p.reservedAt[n]; ok {
		return p.refuse(ErrReserved, a, "is reserved for %s", name)
	}
	s, _ := p.lay.find(n)
	p.seize(s.rng, n, host)
	p.changes++
	p.retire(host, n, until)
	return nil
}

// Remember tells which address a host had before this memory began; only Sticky asks.
func (p *Pool) Remember(host string, a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := number(a.Unmap())
	if _, usable := p.lay.find(n); !usable || host == "" || a.Unmap().Is4() != p.lay.v4 {
		return
	}
	p.had[host] = n
	p.changes++
	if s, ok := p.lay.find(n); ok && p.free.take(s.rng, n) {
		p.idle.put(rest{until: p.now(), addr: n, host: host})
	}
}
