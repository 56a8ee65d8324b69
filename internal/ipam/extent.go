package ipam

import "net/netip"

// Extent is what a pool hands out, without anything about who has it.
type Extent struct{ lay *layout }

// ExtentOf works it out; it fails with what Validate says.
func ExtentOf(s Spec) (Extent, error) {
	l, err := lay(s)
	return Extent{l}, err
}

// Why says in words why an address is not one the pool hands out, as the end of a
// sentence about the address, or "".
func (e Extent) Why(a netip.Addr) string { return e.lay.why(a.Unmap()) }

// Extent is what the pool hands out now.
func (p *Pool) Extent() Extent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Extent{p.lay}
}
