package ipam

import "net/netip"

// Reserve keeps an address for claims of a name, until Unreserve or a Resize with
// another Spec. Who holds the address at the moment keeps it, and is named.
func (p *Pool) Reserve(name string, a netip.Addr) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tidy()
	a = a.Unmap()
	if why := p.lay.why(a); why != "" {
		return p.refuse(ErrOutside, a, "cannot be reserved for %s: it %s", name, why)
	}
	n := number(a)
	if other, taken := p.reservedAt[n]; taken && other != name {
		return p.refuse(ErrReserved, a, "cannot be reserved for %s: it is reserved for %s", name, other)
	}
	if before, has := p.reserved[name]; has && before != n {
		return p.refuse(ErrConflict, a, "cannot be reserved for %s, for which %s is", name, before.address(p.lay.v4))
	}
	if h := p.byAddr[n]; h != nil {
		return p.held(h, "not to be reserved for %s: it is ", name)
	}
	p.setReserved(name, n)
	p.changes++
	return nil
}

func (p *Pool) setReserved(name string, n Count) {
	p.reserved[name], p.reservedAt[n] = n, name
	if s, ok := p.lay.find(n); ok && p.byAddr[n] == nil {
		p.seize(s.rng, n, "")
	}
}

// Unreserve gives the address to whoever comes; a holder keeps it.
func (p *Pool) Unreserve(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, ok := p.reserved[name]
	if !ok {
		return
	}
	delete(p.reserved, name)
	delete(p.reservedAt, n)
	p.changes++
	if p.byAddr[n] == nil {
		p.retire("", n, p.now())
	}
}
