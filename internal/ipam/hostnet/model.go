// Package hostnet is the one description of a host's secondary networks that every
// rendering starts from: Ignition, metal3 networkData and network policies say the same
// because they are written from the same Host.
//
// The renderers beside it, the host-network controller and kubectl-lca's ipam verb call it.
// It imports the arithmetic and the nmstate document, and does no I/O.
package hostnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Host is a host and what its interfaces get.
type Host struct {
	Name       string
	Interfaces []Interface
}

// Interface is one network of a host. It is found by name, or by MAC address where the
// name is not known; with a VLAN it is the tagged interface on top of the one named.
type Interface struct {
	Name string
	MAC  string
	VLAN int
	MTU  int
	// Addresses are static; an interface may have one of each family, or more.
	Addresses []Address
	// Default makes the addresses' gateways the way to everywhere, and DNS the host's
	// resolvers. A secondary network leaves both alone.
	Default bool
	DNS     []netip.Addr
	Routes  []Route
}

// Address is a static address with its prefix length, and the gateway beside it.
type Address struct {
	Prefix  netip.Prefix
	Gateway netip.Addr
}

// Route is reached through a gateway of the same network.
type Route struct {
	Destination netip.Prefix
	Via         netip.Addr
}

// Link is where a lease is to be configured.
type Link struct {
	Name, MAC string
	Default   bool
}

// FromLeases describes an interface by the addresses it was given: one lease, or one per
// family. VLAN and MTU are the pools', which have to agree.
func FromLeases(link Link, leases ...ipam.Lease) (Interface, error) {
	i := Interface{Name: link.Name, MAC: link.MAC, Default: link.Default}
	for k, l := range leases {
		if !l.Prefix().IsValid() {
			return i, fmt.Errorf("pool %s: address %s cannot be configured on %s: the pool says no prefix length",
				l.Pool, l.Address, i.labelOf())
		}
		if k > 0 && (l.VLAN != i.VLAN || l.MTU != i.MTU) {
			return i, fmt.Errorf("pools %s and %s disagree on the VLAN or MTU of %s", leases[0].Pool, l.Pool, i.labelOf())
		}
		i.VLAN, i.MTU = l.VLAN, l.MTU
		i.Addresses = append(i.Addresses, Address{Prefix: l.Prefix(), Gateway: l.Gateway})
		if link.Default {
			i.DNS = append(i.DNS, l.DNS...)
		}
	}
	return i, nil
}

// labelOf names an interface in sentences, device its own name on the host.
func (i Interface) labelOf() string {
	if i.Name == "" {
		return i.MAC
	}
	return i.Device()
}

// Device is the name of the interface that carries the addresses, or "".
func (i Interface) Device() string {
	if i.VLAN == 0 || i.Name == "" {
		return i.Name
	}
	return fmt.Sprintf("%s.%d", i.Name, i.VLAN)
}

// Of is the addresses of one family.
func (i Interface) Of(f netstate.Family) (out []Address) {
	for _, a := range i.Addresses {
		if netstate.FamilyOf(a.Prefix.Addr()) == f {
			out = append(out, a)
		}
	}
	return out
}

// Validate says everything that no host could carry out.
func (h Host) Validate() error {
	var problems []error
	var devices []string
	seen := map[netip.Addr]string{}
	for _, i := range h.Interfaces {
		problems = append(problems, i.validate())
		if slices.Contains(devices, i.labelOf()) {
			problems = append(problems, fmt.Errorf("interface %s appears twice", i.labelOf()))
		}
		devices = append(devices, i.labelOf())
		for _, a := range i.Addresses {
			if other, twice := seen[a.Prefix.Addr()]; twice {
				problems = append(problems, fmt.Errorf("address %s is on both %s and %s", a.Prefix.Addr(), other, i.labelOf()))
			}
			seen[a.Prefix.Addr()] = i.labelOf()
		}
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("host %s: %w", h.Name, err)
	}
	return netstate.Validate(h.newDocument())
}

func (i Interface) validate() error {
	if i.Name == "" && i.MAC == "" {
		return fmt.Errorf("an interface has neither a name nor a MAC address")
	}
	if i.Name == "" && i.VLAN != 0 {
		return fmt.Errorf("interface %s: VLAN %d needs the name of the interface below", i.MAC, i.VLAN)
	}
	if kind := assembledKind(i.Name); kind != "" && i.VLAN == 0 {
		return fmt.Errorf("interface %s is a %s by its name, and has a profile of its own that says what it is made of: "+
			"a pool's addresses cannot be added to that; give the pool a VLAN, or set them with a NodeNetworkConfigurationPolicy",
			i.labelOf(), kind)
	}
	if i.MAC != "" {
		if hw, err := net.ParseMAC(i.MAC); err != nil || len(hw) != 6 {
			return fmt.Errorf("interface %s: %q is not a MAC address", i.labelOf(), i.MAC)
		}
	}
	if len(i.Addresses) == 0 {
		return fmt.Errorf("interface %s has no addresses", i.labelOf())
	}
	for _, r := range i.Routes {
		if !slices.ContainsFunc(i.Addresses, func(a Address) bool { return a.Prefix.Contains(r.Via) }) {
			return fmt.Errorf("interface %s: gateway %s of route %s is not on its network", i.labelOf(), r.Via, r.Destination)
		}
	}
	return nil
}

// assembledKind is the kind of an interface that is made of others or is no Ethernet card, as far as its name tells: a profile of
// type ethernet would never be applied to it.
func assembledKind(name string) string {
	for _, k := range []struct{ prefix, kind string }{
		{"bond", "bond"}, {"team", "team"}, {"br-", "bridge"}, {"br", "bridge"}, {"ovs", "bridge"}, {"virbr", "bridge"},
		{"ib", "InfiniBand interface"},
	} {
		rest, found := strings.CutPrefix(name, k.prefix)
		if found && (strings.HasSuffix(k.prefix, "-") || rest != "" && strings.Trim(rest, "0123456789") == "") {
			return k.kind
		}
	}
	return ""
}
