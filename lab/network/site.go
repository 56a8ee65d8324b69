package network

import "net/netip"

// Site is one set of addresses that the LAN serves. The node's own address belongs to the lab, not to the LAN.
type Site struct {
	// Gateway and DNS are the LAN's own addresses with the prefix length of the segment.
	Gateway, DNS netip.Prefix
	// Gateway6 and DNS6 are their IPv6 companions.
	Gateway6, DNS6 netip.Prefix
}

// Home is the site where the lab's node starts, Away the one it can be moved to (documentation addresses, RFC 5737, RFC 3849).
func Home() Site { return site("192.0.2", "2001:db8:1") }

// Away is the site that the node can be moved to.
func Away() Site { return site("198.51.100", "2001:db8:2") }

func site(v4, v6 string) Site {
	return Site{
		Gateway: netip.MustParsePrefix(v4 + ".1/24"), DNS: netip.MustParsePrefix(v4 + ".53/24"),
		Gateway6: netip.MustParsePrefix(v6 + "::1/64"), DNS6: netip.MustParsePrefix(v6 + "::53/64"),
	}
}

func (s Site) addresses() []netip.Prefix { return []netip.Prefix{s.Gateway, s.DNS, s.Gateway6, s.DNS6} }

// names that the LAN's DNS servers answer, so that a node can show that its resolver works. There is no upstream.
func names() map[string][]netip.Addr {
	home, away := Home(), Away()
	return map[string][]netip.Addr{
		"gateway.lab.example":  {home.Gateway.Addr(), home.Gateway6.Addr()},
		"registry.lab.example": {away.Gateway.Addr(), away.Gateway6.Addr()},
	}
}

// Find returns the LAN's own address with its prefix length, if it is one of either site.
func Find(address netip.Addr) (netip.Prefix, bool) {
	for _, s := range []Site{Home(), Away()} {
		for _, prefix := range s.addresses() {
			if prefix.Addr() == address {
				return prefix, true
			}
		}
	}
	return netip.Prefix{}, false
}
