package ipam

import "net/netip"

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
	n := number(a)
	if now := p.byClaim[h.Claim]; now != nil && now.addr == n {
		now.host = h.Host
		return nil
	}
	for _, old := range []*holding{p.byClaim[h.Claim], p.byAddr[n]} {
		if old != nil {
			lost = append(lost, Holding{Claim: old.claim, Host: old.host, Address: old.addr.address(p.lay.v4)})
			p.drop(old)
			p.retire("", old.addr, p.now())
		}
	}
	p.hold(h, n)
	return lost
}

func (p *Pool) hold(h Holding, n Count) {
	k := &holding{claim: h.Claim, host: h.Host, addr: n}
	p.place(k, n)
	if k.rng >= 0 {
		p.seize(k.rng, n, h.Host)
	}
	p.byClaim[h.Claim], p.byAddr[n] = k, k
	p.changes++
}

// Of is what a claim holds.
func (p *Pool) Of(claim string) (Lease, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.byClaim[claim]
	if h == nil {
		return Lease{}, false
	}
	return p.lease(h), true
}

// Holder is the lease on an address.
func (p *Pool) Holder(a netip.Addr) (Lease, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a = a.Unmap()
	h := p.byAddr[number(a)]
	if h == nil || a.Is4() != p.lay.v4 {
		return Lease{}, false
	}
	return p.lease(h), true
}
