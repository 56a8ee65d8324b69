package ipam

import (
	"net/netip"
	"time"
)

// Holding is what the caller's records say: this claim has this address.
type Holding struct {
	Claim   string
	Host    string
	Address netip.Addr
}

// Restore makes the pool agree with the records, whatever it thought: it never chooses
// and never objects to an address for being outside, excluded or in quarantine. What
// had to give way is returned: the other holder of the address, or what the claim held
// elsewhere. Restoring what is known changes nothing. A holding of the other family
// cannot be the pool's and comes back itself.
func (p *Pool) Restore(h Holding) (lost []Holding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := h.Address.Unmap()
	if a.Is4() != p.lay.v4 {
		return []Holding{h}
	}
	n := numberOf(a)
	if now := p.byClaim[h.Claim]; now != nil && now.addr == n {
		now.host = h.Host
		return nil
	}
	for _, old := range []*holding{p.byClaim[h.Claim], p.byAddr[n]} {
		if old != nil {
			lost = append(lost, Holding{Claim: old.claim, Host: old.host, Address: old.addr.toAddress(p.lay.v4)})
			p.dropHolding(old)
			p.retireAddress("", old.addr, p.now())
		}
	}
	p.addHolding(h, n)
	return lost
}

func (p *Pool) addHolding(h Holding, n Count) {
	k := &holding{claim: h.Claim, host: h.Host, addr: n}
	p.placeHolding(k, n)
	if k.rng >= 0 {
		p.takeAddress(k.rng, n, h.Host)
	}
	p.byClaim[h.Claim], p.byAddr[n] = k, k
}

// Of is what a claim holds.
func (p *Pool) Of(claim string) (Lease, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.byClaim[claim]
	if h == nil {
		return Lease{}, false
	}
	return p.leaseOf(h), true
}

// Holder is the lease on an address.
func (p *Pool) Holder(a netip.Addr) (Lease, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a = a.Unmap()
	h := p.byAddr[numberOf(a)]
	if h == nil || a.Is4() != p.lay.v4 {
		return Lease{}, false
	}
	return p.leaseOf(h), true
}

// Release ends a claim's holding at once and says what it was; a claim that holds
// nothing is no error. The address rests as long as the pool's quarantine says.
func (p *Pool) Release(claim string) (Lease, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endQuarantines()
	h := p.byClaim[claim]
	if h == nil {
		return Lease{}, false
	}
	l := p.leaseOf(h)
	p.dropHolding(h)
	p.retireAddress(h.host, h.addr, p.now().Add(p.spec.Quarantine))
	return l, true
}

// Withdraw ends a claim's holding as if it had not been: the address does not rest, and no host is remembered for it.
func (p *Pool) Withdraw(claim string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.byClaim[claim]
	if h == nil {
		return
	}
	p.dropHolding(h)
	if p.had[h.host] == h.addr {
		delete(p.had, h.host)
	}
	p.retireAddress("", h.addr, p.now())
}

func (p *Pool) dropHolding(h *holding) {
	delete(p.byClaim, h.claim)
	delete(p.byAddr, h.addr)
}

// retireAddress puts an address that lost its holder where it belongs.
func (p *Pool) retireAddress(host string, n Count, until time.Time) {
	s, usable := p.lay.spanWith(n)
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
		p.resting.keepRest(rest{until: until, addr: n, host: host})
		return
	}
	p.freeOrKeep(s.rng, rest{until: until, addr: n, host: host})
}

// freeOrKeep makes an address free, or keeps it apart for the host that had it.
func (p *Pool) freeOrKeep(rng int32, r rest) {
	if r.host != "" && p.spec.Strategy == Sticky && p.had[r.host] == r.addr {
		p.free.removeFree(rng, r.addr)
		p.idle.keepRest(r)
		return
	}
	p.free.returnFree(rng, r.addr)
}

// endQuarantines ends the quarantines that are over.
func (p *Pool) endQuarantines() {
	for {
		r, ok := p.resting.order.Min()
		if !ok || r.until.After(p.now()) {
			return
		}
		p.resting.removeRest(r.addr)
		if s, usable := p.lay.spanWith(r.addr); usable {
			p.freeOrKeep(s.rng, r)
		}
	}
}

// Quarantine keeps an address that no claim holds back until a time, from all hosts but the given one.
func (p *Pool) Quarantine(a netip.Addr, host string, until time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endQuarantines()
	a = a.Unmap()
	if why := p.lay.whyUnusable(a); why != "" {
		return p.newRefusal(ErrOutside, a, "%s", why)
	}
	n := numberOf(a)
	if h := p.byAddr[n]; h != nil {
		return p.refuseHeld(h, "")
	}
	if name, ok := p.reservedAt[n]; ok {
		return p.newRefusal(ErrReserved, a, "is reserved for %s", name)
	}
	s, _ := p.lay.spanWith(n)
	p.takeAddress(s.rng, n, host)
	p.retireAddress(host, n, until)
	return nil
}

// Remember records which address a host had before the pool was built; only Sticky uses it.
func (p *Pool) Remember(host string, a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := numberOf(a.Unmap())
	if _, usable := p.lay.spanWith(n); !usable || host == "" || a.Unmap().Is4() != p.lay.v4 {
		return
	}
	p.had[host] = n
	if s, ok := p.lay.spanWith(n); ok && p.free.removeFree(s.rng, n) {
		p.idle.keepRest(rest{until: p.now(), addr: n, host: host})
	}
}
