package netstate

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Problems are the reasons why a document is refused, each one clear sentence.
type Problems []string

// Error joins the sentences.
func (p Problems) Error() string { return "network document: " + strings.Join(p, "; ") }

// Limits of what a document may say.
const (
	maxNameLength = 15 // IFNAMSIZ - 1
	minMTU        = 68
	minMTUv6      = 1280 // RFC 8200 section 5
	maxMTU        = 65535
	maxVLAN       = 4094
)

// Validate checks a desired document for what can be told without knowing the
// node. It returns nil or Problems with everything that is wrong, not the first.
func Validate(d Document) error {
	v := &validator{}
	seen := map[[2]string]bool{}
	for _, i := range d.Interfaces {
		key := [2]string{i.Name, i.Type}
		if seen[key] {
			v.add("interface %q appears twice", i.Name)
		}
		seen[key] = true
		v.iface(i)
	}
	if d.Routes != nil {
		for _, r := range d.Routes.Config {
			v.route(d, r)
		}
	}
	if d.DNS != nil {
		v.resolver(d.DNS.Config)
	}
	if len(v.problems) > 0 {
		return v.problems
	}
	return nil
}

type validator struct{ problems Problems }

func (v *validator) add(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

func (v *validator) iface(i Interface) {
	if reason := badName(i.Name); reason != "" {
		v.add("interface name %q %s", i.Name, reason)
		return
	}
	if !slices.Contains([]string{"", StateUp, StateDown, StateAbsent}, i.State) {
		v.add("interface %q: state %q is none of up, down, absent", i.Name, i.State)
	}
	if i.State == StateAbsent {
		return // whatever else it says has no effect
	}
	v.vlan(i)
	if i.MTU != 0 && (i.MTU < minMTU || i.MTU > maxMTU) {
		v.add("interface %q: MTU %d is outside %d-%d", i.Name, i.MTU, minMTU, maxMTU)
	} else if i.MTU != 0 && i.MTU < minMTUv6 && i.IPv6.On() {
		v.add("interface %q: IPv6 needs an MTU of at least %d, not %d", i.Name, minMTUv6, i.MTU)
	}
	if i.MACAddress != "" {
		if hw, err := net.ParseMAC(i.MACAddress); err != nil || len(hw) != 6 {
			v.add("interface %q: %q is not a MAC address", i.Name, i.MACAddress)
		}
	}
	if i.Type == TypeOVSBridge && (i.IPv4 != nil || i.IPv6 != nil) {
		v.add("interface %q: an ovs-bridge carries no addresses; give them to its ovs-interface", i.Name)
	}
	v.ip(i, IPv4)
	v.ip(i, IPv6)
}

func (v *validator) vlan(i Interface) {
	if i.VLAN == nil {
		return
	}
	if i.Type != "" && i.Type != TypeVLAN {
		v.add("interface %q: a vlan section does not belong to type %s", i.Name, i.Type)
	}
	if i.VLAN.ID < 1 || i.VLAN.ID > maxVLAN {
		v.add("interface %q: VLAN id %d is outside 1-%d", i.Name, i.VLAN.ID, maxVLAN)
	}
	if i.VLAN.BaseIface == "" {
		return
	}
	if i.VLAN.BaseIface == i.Name {
		v.add("interface %q: a VLAN cannot be its own base interface", i.Name)
	} else if reason := badName(i.VLAN.BaseIface); reason != "" {
		v.add("interface %q: base interface name %q %s", i.Name, i.VLAN.BaseIface, reason)
	}
}

func (v *validator) ip(i Interface, f Family) {
	ip := f.Of(i)
	if ip == nil {
		return
	}
	if ip.Off() && (len(ip.Addresses) > 0 || isTrue(ip.DHCP) || isTrue(ip.Autoconf)) {
		v.add("interface %q: %s is disabled and configured at once", i.Name, f)
	}
	if f == IPv4 && ip.Autoconf != nil {
		v.add("interface %q: IPv4 knows no autoconf", i.Name)
	}
	var seen []netip.Addr
	for _, a := range ip.Addresses {
		p, err := a.Prefix()
		switch {
		case err != nil:
			v.add("interface %q: %v", i.Name, err)
		case FamilyOf(p.Addr()) != f:
			v.add("interface %q: %s is not an %s address", i.Name, a.IP, f)
		case p.Addr().IsUnspecified() || p.Addr().IsMulticast() || p.Addr().IsLoopback() || p.Bits() == 0:
			v.add("interface %q: %s cannot be an address of a host", i.Name, p)
		case p.Addr().Is4In6():
			v.add("interface %q: %s is an IPv4 address in IPv6 clothing", i.Name, a.IP)
		case networkOrBroadcast(p):
			v.add("interface %q: %s is the network or broadcast address of its own network", i.Name, p)
		case slices.Contains(seen, p.Addr()):
			v.add("interface %q: address %s appears twice", i.Name, p.Addr())
		default:
			seen = append(seen, p.Addr())
		}
	}
}

// networkOrBroadcast catches the two addresses of an IPv4 network no host can
// have; networks of one or two addresses (RFC 3021) have no such.
func networkOrBroadcast(p netip.Prefix) bool {
	if !p.Addr().Is4() || p.Bits() >= 31 {
		return false
	}
	last := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	return p.Addr() == p.Masked().Addr() || p.Addr() == netip.AddrFrom4(last)
}

func (v *validator) resolver(r *Resolver) {
	if r == nil {
		return
	}
	var seen []netip.Addr
	for _, s := range r.Server {
		a, err := netip.ParseAddr(s)
		switch {
		case err != nil:
			v.add("DNS server %q is not an IP address", s)
		case a.IsUnspecified() || a.IsMulticast():
			v.add("%s cannot be a DNS server", s)
		case a.IsLinkLocalUnicast() && a.Is6() && a.Zone() == "":
			v.add("DNS server %s is link-local and needs its interface, as in %s%%eno1", s, s)
		case slices.Contains(seen, a):
			v.add("DNS server %s appears twice", s)
		default:
			seen = append(seen, a)
		}
	}
	for _, s := range r.Search {
		if s == "" || strings.ContainsAny(s, " \t\n,;") {
			v.add("DNS search domain %q is not a domain name", s)
		}
	}
}

func badName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxNameLength:
		return fmt.Sprintf("is longer than %d characters", maxNameLength)
	case name == "." || name == "..":
		return "is reserved"
	}
	for _, r := range name {
		if r <= ' ' || r == '/' || r == ':' || r == 0x7f {
			return "holds a character the kernel refuses"
		}
	}
	return ""
}
