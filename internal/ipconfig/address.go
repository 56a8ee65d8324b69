package ipconfig

import (
	"fmt"
	"net/netip"
)

// reserved are the IPv4 networks that no host has an address of (RFC 6890). 255.255.255.255 is in the second.
var reserved = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("240.0.0.0/4")}

// UnusableAddress says why a node cannot have the address, to be read after it; empty where it can.
func UnusableAddress(a netip.Addr) string {
	switch {
	case a.Zone() != "":
		return "has a zone"
	case a.Is4In6():
		return "is IPv4-mapped"
	case a.IsUnspecified():
		return "is the unspecified address"
	case a.IsLoopback():
		return "is a loopback address"
	case a.IsMulticast():
		return "is a multicast address"
	case a.IsLinkLocalUnicast():
		return "is link-local"
	}
	for _, network := range reserved {
		if network.Contains(a) {
			return fmt.Sprintf("is in %s, which is reserved", network)
		}
	}
	return ""
}
