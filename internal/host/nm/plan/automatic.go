package plan

import (
	"errors"
	"math"
	"net/netip"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// forEver is NetworkManager's "infinity" of the time to wait for a network's answer.
const forEver int32 = math.MaxInt32

// patienceKeys are the times by family; with NetworkManager's own, an interface is given up whose server is late at a boot.
var patienceKeys = map[string][]string{"ipv4": {"dhcp-timeout"}, "ipv6": {"dhcp-timeout", "ra-timeout"}}

// setAutomatic has the network give a family addresses, and the document further ones. A family that is automatic already keeps the
// times that its profile has.
func setAutomatic(s profile.Settings, ip *netstate.IP, f netstate.Family, now *netstate.IP) error {
	sec, method := profile.Section(f), "auto"
	if f == netstate.IPv6 && ip.Autoconf != nil && !*ip.Autoconf {
		method = "dhcp"
	}
	if f == netstate.IPv6 && ip.DHCP != nil && !*ip.DHCP {
		return errors.New("IPv6 autoconf without DHCP is not supported")
	}
	if have := profile.Value[string](s, sec, "method"); have != method {
		s.Set(sec, "method", method)
		s.Drop(sec, "address-data", "gateway")
		if have != "auto" && have != "dhcp" {
			identifyByMAC(s, sec)
			if ip.AutoRoutes == nil || *ip.AutoRoutes {
				s.Drop(sec, "route-data") // the network gives the routes from here on; the document adds its own
			}
		}
		for _, key := range patienceKeys[sec] {
			s.Set(sec, key, forEver)
		}
	}
	if ip.Addresses == nil {
		return nil
	}
	wanted, err := fixedAddresses(s, ip, f, now)
	if err != nil {
		return err
	}
	setAddresses(s, sec, wanted)
	return nil
}

// identities are what a family that turns automatic is known to its network by, where its profile does not say: the MAC address, as with
// nmstate, so that a bridge with the address of its card has the card's lease.
var identities = map[string]map[string]any{
	"ipv4": {"dhcp-client-id": "mac"},
	"ipv6": {"dhcp-duid": "ll", "dhcp-iaid": "mac", "addr-gen-mode": int32(0)},
}

func identifyByMAC(s profile.Settings, sec string) {
	for key, value := range identities[sec] {
		if _, says := s[sec][key]; !says {
			s.Set(sec, key, value)
		}
	}
}

// fixedAddresses are those of a list that the network does not give: what is observed may be applied again, leases and all.
func fixedAddresses(s profile.Settings, ip *netstate.IP, f netstate.Family, now *netstate.IP) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, a := range ip.Addresses {
		p, err := a.Prefix()
		if err != nil {
			return nil, err
		}
		isLeased := now.Auto() && slices.ContainsFunc(now.Addresses, func(h netstate.Address) bool {
			have, err := h.Prefix()
			return err == nil && have == p && h.Leased
		})
		ofKernel := f == netstate.IPv6 && p.Addr().IsLinkLocalUnicast()
		if !a.Dynamic() && !isLeased && !ofKernel {
			out = append(out, p)
		}
	}
	return out, nil
}

// dropPatience takes the endless times away with the method that they were for.
func dropPatience(s profile.Settings, sec string) {
	for _, key := range patienceKeys[sec] {
		if profile.Value[int32](s, sec, key) == forEver {
			s.Drop(sec, key)
		}
	}
}

// AwaitsNetwork says that an interface with the profile has all that the node can give it while the network still is asked: for the
// addresses of a family, or whether another host has a fixed IPv6 address, which the kernel asks once the link is there. A bridge of Open
// vSwitch waits for a port, which may never come.
func AwaitsNetwork(s profile.Settings) bool {
	if s.Kind() == profile.TypeOVSBridge {
		return true
	}
	awaits := profile.Value[string](s, "ipv6", "method") == "manual"
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		if IsAutomatic(s, f) && MustSucceed(s, f) {
			return false
		}
		awaits = awaits || IsAutomatic(s, f)
	}
	return awaits
}

// IsAutomatic says that the network gives a family of a profile addresses.
func IsAutomatic(s profile.Settings, f netstate.Family) bool {
	method := profile.Value[string](s, profile.Section(f), "method")
	return (method == "auto" || method == "dhcp") && s.Kind() != profile.TypeLoopback
}

// MustSucceed says that the profile counts as up with an address of the family only (wait-ip).
func MustSucceed(s profile.Settings, f netstate.Family) bool {
	v, says := s[profile.Section(f)]["may-fail"].Value().(bool)
	return says && !v
}
