package netstate

import (
	"fmt"
	"net/netip"
)

// Family is an IP family.
type Family int

// The two families.
const (
	IPv4 Family = 4
	IPv6 Family = 6
)

func (f Family) String() string {
	if f == IPv4 {
		return "IPv4"
	}
	return "IPv6"
}

// Bits is the length of the family's addresses.
func (f Family) Bits() int {
	if f == IPv4 {
		return 32
	}
	return 128
}

// Default is the destination of the family's default route.
func (f Family) Default() netip.Prefix {
	if f == IPv4 {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

// FamilyOf is the family of an address; IPv4-mapped IPv6 addresses count as IPv6.
func FamilyOf(a netip.Addr) Family {
	if a.Is4() {
		return IPv4
	}
	return IPv6
}

// Of returns the family's configuration of an interface, nil where there is none.
func (f Family) Of(i Interface) *IP {
	if f == IPv4 {
		return i.IPv4
	}
	return i.IPv6
}

// Prefix is the address as a value, host bits kept.
func (a Address) Prefix() (netip.Prefix, error) {
	ip, err := netip.ParseAddr(a.IP)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("address %q is not an IP address", a.IP)
	}
	if ip.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("address %q must not carry a zone", a.IP)
	}
	p := netip.PrefixFrom(ip, a.PrefixLength)
	if !p.IsValid() {
		return netip.Prefix{}, fmt.Errorf("prefix length %d of %s is outside 0-%d", a.PrefixLength, a.IP, ip.BitLen())
	}
	return p, nil
}

// LinkLocal says that the address is a link-local IPv6 one, which the kernel assigns by itself.
func (a Address) LinkLocal() bool {
	p, err := a.Prefix()
	return err == nil && p.Addr().Is6() && p.Addr().IsLinkLocalUnicast()
}

// FromPrefix is the inverse of Address.Prefix.
func FromPrefix(p netip.Prefix) Address {
	return Address{IP: p.Addr().String(), PrefixLength: p.Bits()}
}

// Prefixes are the addresses as values, in the order given. A nil IP has none.
func (ip *IP) Prefixes() ([]netip.Prefix, error) {
	if ip == nil {
		return nil, nil
	}
	out := make([]netip.Prefix, 0, len(ip.Addresses))
	for _, a := range ip.Addresses {
		p, err := a.Prefix()
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// IsKernelLoopback says that the kernel gives the loopback interface the address by itself.
func IsKernelLoopback(p netip.Prefix) bool {
	return p == netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 8) || p == netip.PrefixFrom(netip.IPv6Loopback(), 128)
}

// Auto says that the family gets addresses from the network (DHCP, router advertisements).
func (ip *IP) Auto() bool {
	return ip.On() && (isTrue(ip.DHCP) || isTrue(ip.Autoconf))
}

func isTrue(b *bool) bool { return b != nil && *b }

// ParseDestination reads a route's destination: a network (host bits are cleared)
// or a bare address, which means that host alone.
func ParseDestination(s string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("destination %q is not a network such as 192.0.2.0/24 or ::/0", s)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}
