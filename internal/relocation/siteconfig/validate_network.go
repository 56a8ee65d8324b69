package siteconfig

import (
	"errors"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

func (v *validator) checkNetwork(c SiteConfig) {
	if c.Network != nil {
		var all netstate.Problems
		switch err := netstate.Validate(*c.Network); {
		case errors.As(err, &all):
			for _, p := range all {
				v.problems = append(v.problems, ofNetwork(p))
			}
		case err != nil:
			v.problems = append(v.problems, Problem{Key: "network", Want: err.Error()})
		}
	}
	if c.Network != nil && len(c.Connections) > 0 {
		v.addProblem("connections", "", "must be left out where network is given, or the other way round")
	}
	v.checkConnections(c.Connections)
}

// checkConnections refuses what NetworkManager would ignore or could not use.
func (v *validator) checkConnections(list []File) {
	names, uuids := map[string]bool{}, map[string]bool{}
	for i, f := range list {
		key := itemKey("connections", i)
		switch {
		case !isBaseName(f.Name) || path.Ext(f.Name) != ".nmconnection" || strings.HasPrefix(f.Name, "."):
			v.addProblem(joinKey(key, "name"), f.Name, "must be the name of a file that ends in .nmconnection, without a folder")
		case names[strings.ToLower(f.Name)]:
			v.addProblem(joinKey(key, "name"), f.Name, "appears twice; keep one")
		}
		names[strings.ToLower(f.Name)] = true
		c, err := f.Connection()
		switch {
		case err != nil:
			v.addProblem(joinKey(key, "content"), "", "must be a NetworkManager keyfile; it %v", err)
		case c.UUID != "" && uuids[c.UUID]:
			v.addProblem(joinKey(key, "content"), "", "must have a uuid of its own: %s appears twice", c.UUID)
		}
		uuids[c.UUID] = true
	}
}

// ofNetwork parts a sentence about a network document into the key and what is wrong there.
func ofNetwork(sentence string) Problem {
	key, want, found := strings.Cut(sentence, ": ")
	if !found || strings.Contains(key, " ") {
		return Problem{Key: "network", Want: sentence}
	}
	return Problem{Key: joinOptional("network", key), Want: want}
}

// isBaseName says that a name cannot lead out of the folder that it is written to.
func isBaseName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= 255 && !strings.ContainsAny(s, "/\\\x00\n\r")
}

func (v *validator) checkAddresses(c SiteConfig) {
	networks := v.machineNetworks(c.MachineNetworks)
	nodeIPs := v.onePerFamily("nodeIPs", c.NodeIPs)
	for i, a := range nodeIPs {
		if !a.IsValid() || len(networks) == 0 {
			continue
		}
		if !slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) }) {
			v.addProblem(itemKey("nodeIPs", i), a.String(), "must lie in one of machineNetworks (%s)", strings.Join(c.MachineNetworks,
				", "))
		}
	}
	v.checkStaticAddresses(c, networks, nodeIPs)
	servers := map[netip.Addr]bool{}
	for i, s := range c.DNSServers {
		a, err := netip.ParseAddr(s)
		switch {
		case err != nil:
			v.addProblem(itemKey("dnsServers", i), s, "must be an IP address, such as 192.0.2.53")
		case a.IsUnspecified() || a.IsMulticast() || a.IsLoopback():
			v.addProblem(itemKey("dnsServers", i), s, "cannot be the address of the site's DNS server")
		case servers[a]:
			v.addProblem(itemKey("dnsServers", i), s, "appears twice; keep one")
		}
		servers[a] = true
	}
}

// checkStaticAddresses holds the static addresses of the network document against the networks and addresses that are named beside it.
// A document that gets its addresses from the site cannot be judged here.
func (v *validator) checkStaticAddresses(c SiteConfig, networks []netip.Prefix, nodeIPs []netip.Addr) {
	if c.Network == nil || netstate.Validate(*c.Network) != nil {
		return
	}
	static, auto := staticAddresses(*c.Network)
	if auto || len(static) == 0 {
		return
	}
	for i, p := range networks {
		if !slices.ContainsFunc(static, func(a netip.Prefix) bool { return p.Contains(a.Addr()) }) {
			v.addProblem(itemKey("machineNetworks", i), p.String(), "must hold an address of network, which has %s", joinPrefixes(static))
		}
	}
	for i, ip := range nodeIPs {
		if ip.IsValid() && !slices.ContainsFunc(static, func(a netip.Prefix) bool { return a.Addr() == ip }) {
			v.addProblem(itemKey("nodeIPs", i), ip.String(), "must be an address of network, which has %s", joinPrefixes(static))
		}
	}
}

func staticAddresses(d netstate.Document) (static []netip.Prefix, auto bool) {
	for _, i := range d.Interfaces {
		for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			ip := f.Of(i)
			if !ip.On() || i.State == netstate.StateAbsent {
				continue
			}
			auto = auto || ip.Auto()
			prefixes, err := ip.Prefixes()
			if err == nil {
				static = append(static, prefixes...)
			}
		}
	}
	return static, auto
}

func joinPrefixes(all []netip.Prefix) string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.String()
	}
	return strings.Join(out, ", ")
}

func (v *validator) machineNetworks(list []string) (out []netip.Prefix) {
	families := map[bool]bool{}
	for i, s := range list {
		p, err := netip.ParsePrefix(s)
		switch {
		case err != nil || p.Addr().Is4In6():
			v.addProblem(itemKey("machineNetworks", i), s, "must be a network, such as 192.0.2.0/24 or 2001:db8::/64")
		case p != p.Masked():
			v.addProblem(itemKey("machineNetworks", i), s, "must be a network, not an address in it; it would be %s", p.Masked())
		case p.Bits() == 0 || p.Addr().IsLoopback() || p.Addr().IsMulticast():
			v.addProblem(itemKey("machineNetworks", i), s, "cannot be the network of a node")
		case families[p.Addr().Is4()]:
			v.addProblem(itemKey("machineNetworks", i), s, "is the second network of its family; keep one IPv4 and one IPv6 network")
		default:
			families[p.Addr().Is4()] = true
			out = append(out, p)
		}
	}
	return out
}

// onePerFamily checks host addresses of which there can be one of each family. The result has an invalid address where
// the list has a mistake.
func (v *validator) onePerFamily(key string, list []string) []netip.Addr {
	out := make([]netip.Addr, len(list))
	families := map[bool]bool{}
	for i, s := range list {
		a, err := netip.ParseAddr(s)
		switch {
		case err != nil || a.Zone() != "" || a.Is4In6():
			v.addProblem(itemKey(key, i), s, "must be an IP address, such as 192.0.2.10")
		case a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() || a.IsLinkLocalUnicast():
			v.addProblem(itemKey(key, i), s, "cannot be the address of a node")
		case families[a.Is4()]:
			v.addProblem(itemKey(key, i), s, "is the second address of its family; keep one IPv4 and one IPv6 address")
		default:
			families[a.Is4()] = true
			out[i] = a
		}
	}
	return out
}
