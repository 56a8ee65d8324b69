package ipam

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"
)

// Pool answers for one pool. Its methods may be called from many goroutines.
type Pool struct {
	now  func() time.Time
	rand *rand.Rand

	mu   sync.Mutex
	spec Spec
	lay  *layout
	free *freeSet

	byClaim map[string]*holding
	byAddr  map[Count]*holding

	reserved   map[string]Count // by name
	reservedAt map[Count]string

	resting kept             // in quarantine, first to leave first
	idle    kept             // kept for a host that left, longest gone first
	had     map[string]Count // the address a host had last
}

// Options are what a Pool is given from outside. Both have to be set.
type Options struct {
	Now  func() time.Time
	Rand rand.Source
}

// holding is an address in the hands of a claim.
type holding struct {
	claim, host string
	addr        Count
	rng         int32 // -1: outside
	wire        *wire // of its range, or of the range it had
}

// New works the Spec out; it fails with what Validate says.
func New(s Spec, o Options) (*Pool, error) {
	l, err := newLayout(s)
	if err != nil {
		return nil, err
	}
	p := &Pool{
		now: o.Now, rand: rand.New(o.Rand), spec: s,
		byClaim: map[string]*holding{}, byAddr: map[Count]*holding{},
		resting: newKept(), idle: newKept(), had: map[string]Count{},
	}
	p.rebuildFree(l)
	return p, nil
}

// rebuildFree derives what is free from the layout and everything that is known.
func (p *Pool) rebuildFree(l *layout) {
	p.lay, p.free = l, newFreeSet(l.usable)
	p.reserved, p.reservedAt = map[string]Count{}, map[Count]string{}
	for name, a := range p.spec.Reserved {
		p.setReserved(name, numberOf(a.Unmap()))
	}
	for n, h := range p.byAddr {
		p.placeHolding(h, n)
		if h.rng >= 0 {
			p.free.removeFree(h.rng, n)
		}
	}
	p.restoreKept(p.resting)
	p.restoreKept(p.idle)
}

// setReserved keeps an address for claims of a name. A claim that holds it already keeps it.
func (p *Pool) setReserved(name string, n Count) {
	p.reserved[name], p.reservedAt[n] = n, name
	if s, ok := p.lay.spanWith(n); ok && p.byAddr[n] == nil {
		p.takeAddress(s.rng, n, "")
		p.free.removeFree(s.rng, n) // the free set is new, and has what rested
	}
}

// placeHolding finds the range that a holding lies in now, if any.
func (p *Pool) placeHolding(h *holding, n Count) {
	h.rng = -1
	if s, ok := p.lay.spanWith(n); ok {
		h.rng = s.rng
	}
	if rng, ok := p.lay.rangeOf(n); ok {
		h.wire = &p.lay.wires[rng]
	} else if h.wire == nil {
		w := p.spec.toWire(Range{})
		h.wire = &w
	}
}

// restoreKept takes what rests out of the free set, and forgets what is no longer usable.
func (p *Pool) restoreKept(k kept) {
	for n := range k.at {
		if s, ok := p.lay.spanWith(n); ok {
			p.free.removeFree(s.rng, n)
		} else {
			k.removeRest(n)
		}
	}
}

// Lease is an address with what its holder needs to use it.
type Lease struct {
	Pool    string
	Network string
	Claim   string
	Host    string
	Address netip.Addr
	// Bits is the prefix length on the wire; 0 where the pool does not say.
	Bits    int
	Gateway netip.Addr
	DNS     []netip.Addr
	VLAN    int
	MTU     int
	// Outside says that the pool has shrunk and the address is no longer its own: it is
	// kept until its claim goes, and never allocated again.
	Outside bool
}

// Prefix is the address with its prefix length; not valid where the pool has none.
func (l Lease) Prefix() netip.Prefix {
	if l.Bits == 0 {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(l.Address, l.Bits)
}

func (p *Pool) leaseOf(h *holding) Lease {
	l := Lease{
		Pool: p.spec.Name, Network: p.spec.Network, Claim: h.claim, Host: h.host,
		Address: h.addr.toAddress(p.lay.v4), VLAN: p.spec.VLAN, MTU: p.spec.MTU,
		Outside: h.rng < 0,
	}
	l.Bits, l.Gateway, l.DNS = h.wire.bits, h.wire.gateway, h.wire.dns
	return l
}

// Spec is the pool as it is declared now.
func (p *Pool) Spec() Spec {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spec
}

// Stats counts a pool's addresses. Total is Used within the ranges, Reserved,
// Quarantined, Idle and Free together.
type Stats struct {
	// Total is what can be allocated; Excluded is what of the ranges cannot.
	Total, Excluded Count
	Free            Count
	Used            int // held by a claim, Outside included
	Reserved        int // kept for a name, held by no claim
	Quarantined     int
	Idle            int // kept for a host that left, given away last
	Outside         int // held, but no longer the pool's
}

// Stats counts now. The cost is what is reserved, not what is held.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endQuarantines()
	kept := p.countUnclaimed()
	inside := p.lay.total.sub(p.free.total).Int64() - int64(kept+len(p.resting.at)+len(p.idle.at))
	return Stats{
		Total: p.lay.total, Excluded: p.lay.countAddresses().sub(p.lay.total), Free: p.free.total,
		Used: len(p.byAddr), Reserved: kept, Quarantined: len(p.resting.at), Idle: len(p.idle.at),
		Outside: len(p.byAddr) - int(inside),
	}
}
