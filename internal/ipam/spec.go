package ipam

import (
	"net/netip"
	"time"

	"go4.org/netipx"
)

// Strategy says which free address comes next.
type Strategy string

// The strategies.
const (
	// Sequential takes the lowest free address of the first range that has one.
	Sequential Strategy = "sequential"
	// Random takes any, so that addresses cannot be guessed from one another.
	Random Strategy = "random"
	// Sticky gives a host the address it had before; and to a host never seen, one that
	// follows from its name, so that even a memory lost leads to the same address as
	// long as no other host took it. An address another host had is given away last.
	Sticky Strategy = "sticky"
)

// Range is one stretch of a pool. Start and End are included; what is left out comes
// from Subnet, or from the prefix around the end that is given.
type Range struct {
	Start, End netip.Addr
	Subnet     netip.Prefix
	// Prefix is the prefix length on the wire; 0 means the pool's, or the Subnet's.
	Prefix int
	// Gateway and DNS override the pool's.
	Gateway netip.Addr
	DNS     []netip.Addr
}

// Spec is a pool as it is declared.
type Spec struct {
	Name string
	// Network names the address space: within one network an address exists once,
	// whatever pool it is in.
	Network string
	Ranges  []Range
	// Prefix, Gateway and DNS hold for ranges that do not say otherwise.
	Prefix  int
	Gateway netip.Addr
	DNS     []netip.Addr
	VLAN    int
	MTU     int
	// Exclude is never allocated. Gateways, network and broadcast addresses are kept
	// out without being listed.
	Exclude []netipx.IPRange
	// DHCP is the part of the subnet that a DHCP server leases; it must not meet a range.
	DHCP netipx.IPRange
	// Reserved keeps addresses for claims of a name.
	Reserved map[string]netip.Addr
	Strategy Strategy
	// Quarantine is how long a released address rests before another holder gets it.
	Quarantine time.Duration
}

// wire is what a holder of an address of this range needs to know.
type wire struct {
	bits    int
	gateway netip.Addr
	dns     []netip.Addr
}

func (s Spec) toWire(r Range) wire {
	w := wire{bits: r.Prefix, gateway: r.Gateway, dns: r.DNS}
	if w.bits == 0 {
		w.bits = s.Prefix
	}
	if w.bits == 0 && r.Subnet.IsValid() {
		w.bits = r.Subnet.Bits()
	}
	if !w.gateway.IsValid() {
		w.gateway = s.Gateway
	}
	if w.dns == nil {
		w.dns = s.DNS
	}
	return w
}
