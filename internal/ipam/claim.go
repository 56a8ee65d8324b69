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
	// Share is preferred where the strategy is the lowest free address.
	Share Share
}

// Proposal is what a pool would answer. Nothing is taken until it is kept.
type Proposal struct {
	Leases []Lease

	pool    *Pool
	reqs    []Request
	changes uint64
}

// Preview answers requests as Claim would, the later ones knowing of the earlier, and
// takes nothing. All are answered or none.
func (p *Pool) Preview(reqs ...Request) (*Proposal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tidy()
	at := p.changes
	leases, err := p.grantAll(reqs, true)
	if err != nil {
		return nil, err
	}
	p.changes = at
	return &Proposal{Leases: leases, pool: p, reqs: reqs, changes: at}, nil
}

// Keep makes the proposal true. It fails with ErrStale when the pool has changed since:
// nothing is taken then, and a new preview is due.
func (q *Proposal) Keep() error {
	p := q.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tidy()
	if p.changes != q.changes {
		return p.refuse(ErrStale, netip.Addr{}, "has changed since the preview")
	}
	reqs := make([]Request, len(q.reqs))
	for i, r := range q.reqs {
		reqs[i], reqs[i].Address = r, q.Leases[i].Address
	}
	_, err := p.grantAll(reqs, false)
	return err
}

// Claim is a preview that is kept at once.
func (p *Pool) Claim(r Request) (Lease, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tidy()
	h, _, err := p.grant(r)
	if err != nil {
		return Lease{}, err
	}
	return p.lease(h), nil
}

// ClaimAll answers all requests, or takes nothing.
func (p *Pool) ClaimAll(reqs ...Request) ([]Lease, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tidy()
	return p.grantAll(reqs, false)
}

// grantAll grants in order; on a refusal, or for a preview, it takes everything back.
func (p *Pool) grantAll(reqs []Request, preview bool) (leases []Lease, err error) {
	var undo []func()
	for _, r := range reqs {
		h, back, e := p.grant(r)
		if e != nil {
			err = e
			break
		}
		undo = append(undo, back)
		leases = append(leases, p.lease(h))
	}
	if err == nil && !preview {
		return leases, nil
	}
	for i := len(undo) - 1; i >= 0; i-- {
		undo[i]()
	}
	return leases, err
}

// grant is the one way an address gets a holder. The second result takes it back as if
// it had not been.
func (p *Pool) grant(r Request) (*holding, func(), error) {
	if r.Claim == "" {
		return nil, nil, p.refuse(ErrConflict, r.Address, "cannot be claimed by a claim without an identity")
	}
	if h := p.byClaim[r.Claim]; h != nil {
		if r.Address.IsValid() && number(r.Address.Unmap()) != h.addr {
			return nil, nil, p.refuse(ErrConflict, r.Address, "is asked for by %s, which holds %s", r.Claim, h.addr.address(p.lay.v4))
		}
		return h, func() {}, nil
	}
	rng, n, err := p.pick(r)
	if err != nil {
		return nil, nil, err
	}
	back := p.seize(rng, n, r.Host)
	h := &holding{claim: r.Claim, host: r.Host, addr: n, rng: rng, wire: &p.lay.wires[rng]}
	p.byClaim[r.Claim], p.byAddr[n] = h, h
	p.changes++
	return h, func() {
		delete(p.byClaim, r.Claim)
		delete(p.byAddr, n)
		back()
	}, nil
}

// seize takes n out of wherever it lay: free, in quarantine, kept for a host, reserved.
// A host that had it before and is not the new one is forgotten.
func (p *Pool) seize(rng int32, n Count, host string) (back func()) {
	for _, k := range []*kept{&p.resting, &p.idle} {
		if r, ok := k.at[n]; ok {
			k.remove(n)
			return p.forget(r, host, func() { k.put(r) })
		}
	}
	if p.free.take(rng, n) {
		return func() { p.free.give(rng, n) }
	}
	return func() {} // reserved: no part of the free set
}

func (p *Pool) forget(r rest, host string, back func()) func() {
	if r.host == host || r.host == "" || p.had[r.host] != r.addr {
		return back
	}
	delete(p.had, r.host)
	return func() {
		p.had[r.host] = r.addr
		back()
	}
}
