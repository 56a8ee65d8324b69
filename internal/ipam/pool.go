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
	// changes counts what was taken and given, so that a Proposal can tell its age.
	changes uint64

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
	l, err := lay(s)
	if err != nil {
		return nil, err
	}
	p := &Pool{
		now: o.Now, rand: rand.New(o.Rand), spec: s,
		byClaim: map[string]*holding{}, byAddr: map[Count]*holding{},
		resting: newKept(), idle: newKept(), had: map[string]Count{},
	}
	p.rebuild(l)
	return p, nil
}

// rebuild derives what is free from the layout and everything that is known.
func (p *Pool) rebuild(l *layout) {
	p.lay, p.free = l, newFreeSet(l.usable)
	p.changes++
	p.reserved, p.reservedAt = map[string]Count{}, map[Count]string{}
	for name, a := range p.spec.Reserved {
		p.setReserved(name, number(a.Unmap()))
	}
	for n, h := range p.byAddr {
		p.place(h, n)
		if h.rng >= 0 {
			p.free.take(h.rng, n)
		}
	}
	p.rekeep(p.resting)
	p.rekeep(p.idle)
}

// place tells a holding which range it lies in now, if any.
func (p *Pool) place(h *holding, n Count) {
	h.rng = -1
	if s, ok := p.lay.find(n); ok {
		h.rng = s.rng
	}
	if rng, ok := p.lay.rangeOf(n); ok {
		h.wire = &p.lay.wires[rng]
	} else if h.wire == nil {
		h.wire = &wire{}
	}
}

// rekeep takes what rests out of the free set, and forgets what is no longer usable.
func (p *Pool) rekeep(k kept) {
	for n := range k.at {
		if s, ok := p.lay.find(n); ok {
			p.free.take(s.rng, n)
		} else {
			k.remove(n)
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
	// Outside tells that the pool has shrunk and the address is no longer its own: it is
	// kept until its claim goes, and never handed out again.
	Outside bool
}

// Prefix is the address with its prefix length; not valid where the pool has none.
func (l Lease) Prefix() netip.Prefix {
	if l.Bits == 0 {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(l.Address, l.Bits)
}

func (p *Pool) lease(h *holding) Lease {
	l := Lease{
		Pool: p.spec.Name, Network: p.spec.Network, Claim: h.claim, Host: h.host,
		Address: h.addr.address(p.lay.v4), VLAN: p.spec.VLAN, MTU: p.spec.MTU,
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
