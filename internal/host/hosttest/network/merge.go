package network

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// network is what runs: profiles by interface name. bridged names the interface that is the
// uplink of br-ex; its addresses are then found on br-ex.
type network struct {
	profiles map[string]profile
	bridged  string
	// wide is what no profile holds: names of the node and its row of the Open vSwitch database, as far as documents said.
	wide netstate.Document
}

func (w network) clone() network {
	w.profiles = maps.Clone(w.profiles)
	return w
}

func (w network) equal(o network) bool {
	return w.bridged == o.bridged && reflect.DeepEqual(w.wide, o.wide) && maps.EqualFunc(w.profiles, o.profiles,
		func(a, b profile) bool { return a.keyfile() == b.keyfile() })
}

// merge is what runs after the document was applied.
func (w network) merge(want netstate.Document) (network, error) {
	next := w.clone()
	for _, i := range want.Interfaces {
		if err := next.set(i); err != nil {
			return next, err
		}
	}
	if want.Routes != nil {
		next.setRoutes(want.Routes.Config)
	}
	next.prune()
	resolver := w.resolver()
	if want.DNS != nil && want.DNS.Config != nil {
		resolver = *netstate.Merge(netstate.Document{DNS: &netstate.DNS{Config: &resolver}}, want).DNS.Config
	}
	next.wide = netstate.Merge(w.wide, want.NodeWide()).NodeWide()
	next.setDNS(resolver)
	return next, nil
}

// set merges one interface: what the document does not mention stays.
func (w network) set(i netstate.Interface) error {
	if i.Name == host.BridgeExternal && w.bridged != "" {
		if i.Type == netstate.TypeOVSBridge {
			return nil
		}
		i.Name, i.Type, i.VLAN = w.bridged, w.profiles[w.bridged].iface.Type, nil
	} else if i.Name == w.bridged && (len(prefixes(i.IPv4))+len(prefixes(i.IPv6)) > 0) {
		return fmt.Errorf("interface %s is a port of %s and cannot have addresses", i.Name, host.BridgeExternal)
	}
	if i.State == netstate.StateAbsent || i.State == netstate.StateDown {
		delete(w.profiles, i.Name)
		return nil
	}
	p, ok := w.profiles[i.Name]
	if !ok {
		p.iface = netstate.Interface{Name: i.Name, Type: i.Type, IPv4: netstate.Disabled(), IPv6: netstate.Disabled()}
	}
	p.iface = netstate.MergeInterface(p.iface, i)
	if vlan := p.iface.VLAN; vlan != nil && vlan.BaseIface == "" {
		base, _, _ := strings.Cut(i.Name, ".")
		p.iface.VLAN = &netstate.VLAN{ID: vlan.ID, BaseIface: base}
	}
	p.iface.IPv4, p.iface.IPv6 = static(p.iface.IPv4), static(p.iface.IPv6)
	w.profiles[i.Name] = p
	return nil
}

func prefixes(ip *netstate.IP) []netstate.Address {
	if !ip.On() {
		return nil
	}
	return ip.Addresses
}

// static copies a family's configuration in the form that keyfiles give back.
func static(ip *netstate.IP) *netstate.IP {
	out := &netstate.IP{Enabled: new(ip.On())}
	if ip.On() {
		auto := ip.Auto()
		out.DHCP, out.Addresses = &auto, slices.Clone(ip.Addresses)
	}
	return out
}

func (w network) setRoutes(config []netstate.Route) {
	var have []netstate.Route
	for _, name := range slices.Sorted(maps.Keys(w.profiles)) {
		have = append(have, w.profiles[name].routes...)
	}
	want := slices.Clone(config)
	for i := range want {
		if want[i].NextHopInterface == host.BridgeExternal && w.bridged != "" {
			want[i].NextHopInterface = w.bridged
		}
	}
	merged := netstate.MergeRoutes(have, want)
	keeper := w.keeper(merged)
	for name, p := range w.profiles {
		p.routes = nil
		for _, r := range merged {
			if r.NextHopInterface == name || r.RouteType != "" && name == keeper {
				p.routes = append(p.routes, r)
			}
		}
		w.profiles[name] = p
	}
}

// keeper is the interface whose profile has the routes that lead nowhere: the one with the default route.
func (w network) keeper(routes []netstate.Route) string {
	for _, name := range slices.Sorted(maps.Keys(w.profiles)) {
		if (profile{routes: slices.DeleteFunc(slices.Clone(routes), func(r netstate.Route) bool {
			return r.NextHopInterface != name
		})}).hasDefaultRoute() {
			return name
		}
	}
	return ""
}

// resolver is what runs; interfaces with a default route carry it.
func (w network) resolver() netstate.Resolver {
	var r netstate.Resolver
	for _, name := range slices.Sorted(maps.Keys(w.profiles)) {
		if p := w.profiles[name]; len(p.dns)+len(p.search)+len(p.options) > 0 {
			return netstate.Resolver{Server: p.dns, Search: p.search, Options: p.options}
		}
	}
	return r
}

// setDNS gives the resolver to the interfaces with a default route.
func (w network) setDNS(r netstate.Resolver) {
	for name, p := range w.profiles {
		p.dns, p.search, p.options = nil, nil, nil
		if p.hasDefaultRoute() {
			p.dns, p.search, p.options = slices.Clone(r.Server), slices.Clone(r.Search), slices.Clone(r.Options)
		}
		w.profiles[name] = p
	}
}

// observe describes what runs.
func (w network) observe() netstate.Document {
	d := w.wide
	routes, resolver := &netstate.Routes{}, w.resolver()
	for _, name := range slices.Sorted(maps.Keys(w.profiles)) {
		p := w.profiles[name]
		i, rest := p.iface, p.iface
		i.IPv4, i.IPv6 = static(i.IPv4), static(i.IPv6)
		out := name
		if name == w.bridged {
			out = host.BridgeExternal
			rest.IPv4, rest.IPv6 = netstate.Disabled(), netstate.Disabled()
			d.Interfaces = append(d.Interfaces, rest,
				netstate.Interface{Name: out, Type: netstate.TypeOVSBridge, State: netstate.StateUp,
					Bridge: &netstate.Bridge{Ports: []netstate.BridgePort{{Name: name}, {Name: out}}}},
				netstate.Interface{Name: out, Type: netstate.TypeOVSInterface, State: netstate.StateUp, MTU: i.MTU, IPv4: i.IPv4, IPv6: i.IPv6})
		} else {
			d.Interfaces = append(d.Interfaces, i)
		}
		for _, r := range p.routes {
			if r.RouteType == "" {
				r.NextHopInterface = out
			}
			routes.Running, routes.Config = append(routes.Running, r), append(routes.Config, r)
		}
	}
	config := resolver
	d.Routes, d.DNS = routes, &netstate.DNS{Running: &resolver, Config: &config}
	return d
}

// addresses that run, in the order of interfaces.
func (w network) addresses() []netip.Prefix {
	var all []netip.Prefix
	for _, name := range slices.Sorted(maps.Keys(w.profiles)) {
		all = append(all, w.profiles[name].addresses()...)
	}
	return all
}

// prune drops routes of a family that their interface does not have.
func (w network) prune() {
	for name, p := range w.profiles {
		p.routes = slices.DeleteFunc(slices.Clone(p.routes), func(r netstate.Route) bool {
			f, ok := r.Family()
			ip := p.iface.IPv4
			if f == netstate.IPv6 {
				ip = p.iface.IPv6
			}
			return !ok || !ip.On()
		})
		w.profiles[name] = p
	}
}
