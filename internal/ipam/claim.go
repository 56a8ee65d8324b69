package ipam

import "net/netip"

// Request asks for one address.
type Request struct {
	// Claim identifies who asks, once and for all: the UID of an object is good. A claim
	// that holds an address already is given the same one again.
	Claim string
	// Name is matched with the names addresses are reserved for; may be empty.
	Name string
	// Host is whose address it becomes; what Sticky remembers by. May be empty. A host
	// with several interfaces in one pool gives each a Host of its own: "host-0/eth1".
	Host string
	// Address is wished for; without it the strategy chooses.
	Address netip.Addr
}

// Claim gives a claim its address: the one it has, or the one that pick finds.
func (p *Pool) Claim(r Request) (Lease, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endQuarantines()
	h, err := p.grantAddress(r)
	if err != nil {
		return Lease{}, err
	}
	return p.leaseOf(h), nil
}

// grantAddress makes a claim the holder of an address. Restore aside, an address gets its holder nowhere else.
func (p *Pool) grantAddress(r Request) (*holding, error) {
	if r.Claim == "" {
		return nil, p.newRefusal(ErrConflict, r.Address, "cannot be claimed by a claim without an identity")
	}
	if h := p.byClaim[r.Claim]; h != nil {
		if r.Address.IsValid() && numberOf(r.Address.Unmap()) != h.addr {
			return nil, p.newRefusal(ErrConflict, r.Address, "is asked for by %s, which holds %s", r.Claim, h.addr.toAddress(p.lay.v4))
		}
		return h, nil
	}
	rng, n, err := p.pickAddress(r)
	if err != nil {
		return nil, err
	}
	p.takeAddress(rng, n, r.Host)
	h := &holding{claim: r.Claim, host: r.Host, addr: n, rng: rng, wire: &p.lay.wires[rng]}
	p.byClaim[r.Claim], p.byAddr[n] = h, h
	return h, nil
}

// takeAddress takes n out of the free, quarantined or idle addresses. A host that had it before, and is not the new one, is forgotten.
func (p *Pool) takeAddress(rng int32, n Count, host string) {
	for _, k := range []*kept{&p.resting, &p.idle} {
		r, ok := k.at[n]
		if !ok {
			continue
		}
		k.removeRest(n)
		if r.host != host && r.host != "" && p.had[r.host] == r.addr {
			delete(p.had, r.host)
		}
		return
	}
	p.free.removeFree(rng, n) // a reserved address is not among the free ones
}
