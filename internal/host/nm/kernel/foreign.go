package kernel

import (
	"net/netip"
	"slices"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Foreign are the addresses and routes that other programs (OVN-Kubernetes, keepalived)
// gave an interface besides its profile. NetworkManager drops them when it applies a
// profile again: the flag that should keep them (1.42) does so for IPv4 alone and then
// loses the IPv6 addresses of the profile. So this package puts them back. Their owner does
// the same in its own time, and what it has put there counts.
type Foreign struct {
	Iface     string           `json:"interface"`
	Addresses []string         `json:"addresses,omitempty"` // with prefix length
	Routes    []netstate.Route `json:"routes,omitempty"`
	// WholeAddresses and WholeRoutes are the same with all their attributes. A journal of an earlier version has none.
	WholeAddresses []Message `json:"wholeAddresses,omitempty"`
	WholeRoutes    []Message `json:"wholeRoutes,omitempty"`
	// Connected are the kernel's own routes to the networks of these addresses. The kernel makes them with the address, and
	// NetworkManager, which goes by what it read before, may then remove them.
	Connected []Message `json:"connectedRoutes,omitempty"`
	// Ports are links of other programs that are ports of the interface. NetworkManager takes them out when it activates a bridge.
	Ports []string `json:"ports,omitempty"`
}

// ForeignOn lists what the interface has and its profile does not know. Automatic
// addresses and routes are not foreign: DHCP and routers bring them again.
func ForeignOn(k *State, all Messages, iface string, s profile.Settings) Foreign {
	out := Foreign{Iface: iface}
	index := k.IndexOf(iface)
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		for _, p := range k.permanent[index][f] {
			same := func(e map[string]dbus.Variant) bool { return profile.SameAddress(e, p) }
			if !slices.ContainsFunc(s.Dicts(profile.Section(f), "address-data"), same) {
				out.Addresses = append(out.Addresses, p.String())
			}
		}
	}
	for _, m := range all.addresses {
		a, err := m.parseAddress()
		if err == nil && a.link == index && slices.Contains(out.Addresses, a.prefix.String()) {
			out.WholeAddresses = append(out.WholeAddresses, m.withLinkNames(k))
		}
	}
	for _, m := range all.routes {
		r, err := m.parseRoute()
		if err != nil {
			continue
		}
		if r.isConnectedFor(out.Addresses) && r.via[0].link == index {
			out.Connected = append(out.Connected, m.withLinkNames(k))
		}
		if !r.isConfigured() {
			continue
		}
		if mine := r.foreignHops(k, iface, s); len(mine) > 0 {
			out.Routes = append(out.Routes, mine...)
			out.WholeRoutes = append(out.WholeRoutes, m.withLinkNames(k))
		}
	}
	return out
}

// foreignHops are the route's hops over the interface that the profile does not know.
func (r route) foreignHops(k *State, iface string, s profile.Settings) []netstate.Route {
	var out []netstate.Route
	for _, hop := range r.hopRoutes(k.NameOf) {
		f, _ := hop.Family()
		own, _ := profile.ProfileRoutes(s, iface, f)
		same := func(o netstate.Route) bool { return netstate.SameRoute(o, hop) }
		if hop.NextHopInterface == iface && !slices.ContainsFunc(own, same) {
			out = append(out, hop)
		}
	}
	return out
}

// Without leaves out what the document itself has an opinion on.
func (f Foreign) Without(want netstate.Document) Foreign {
	out := Foreign{Iface: f.Iface, Addresses: f.Addresses}
	for _, i := range want.Interfaces {
		for _, fam := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			if ip := fam.Of(i); i.Name == f.Iface && ip.Off() {
				out.Addresses = slices.DeleteFunc(slices.Clone(out.Addresses), func(a string) bool {
					p, err := netip.ParsePrefix(a)
					return err != nil || netstate.FamilyOf(p.Addr()) == fam
				})
			}
		}
	}
	var config []netstate.Route
	if want.Routes != nil {
		config = want.Routes.Config
	}
	kept := netstate.MergeRoutes(f.Routes, config)
	for _, r := range f.Routes {
		if slices.ContainsFunc(kept, func(m netstate.Route) bool { return netstate.SameRoute(m, r) }) {
			out.Routes = append(out.Routes, r)
		}
	}
	out.WholeAddresses, out.WholeRoutes = f.wholeOf(out.Addresses, out.Routes)
	for _, m := range f.Connected {
		if r, err := m.parseRoute(); err == nil && r.isConnectedFor(out.Addresses) {
			out.Connected = append(out.Connected, m)
		}
	}
	return out
}

// wholeOf are the messages of these addresses and routes. A route of several hops is kept while one of them is.
func (f Foreign) wholeOf(addresses []string, routes []netstate.Route) (as, rs []Message) {
	for _, m := range f.WholeAddresses {
		if a, err := m.parseAddress(); err == nil && slices.Contains(addresses, a.prefix.String()) {
			as = append(as, m)
		}
	}
	for _, m := range f.WholeRoutes {
		r, err := m.parseRoute()
		if err != nil {
			continue
		}
		kept := func(hop netstate.Route) bool {
			return slices.ContainsFunc(routes, func(o netstate.Route) bool { return netstate.SameRoute(o, hop) })
		}
		if slices.ContainsFunc(r.hopRoutes(m.nameOf), kept) {
			rs = append(rs, m)
		}
	}
	return as, rs
}

// WithoutForeign leaves the addresses and routes of other programs out of a state that an interface is compared with: what
// their owners do with them is no fault of a change.
func WithoutForeign(d netstate.Document, all []Foreign) netstate.Document {
	d.Interfaces = slices.Clone(d.Interfaces)
	for n, i := range d.Interfaces {
		d.Interfaces[n].IPv4 = withoutAddresses(i.IPv4, i.Name, all)
		d.Interfaces[n].IPv6 = withoutAddresses(i.IPv6, i.Name, all)
	}
	if d.Routes != nil {
		routes := *d.Routes
		routes.Config = slices.DeleteFunc(slices.Clone(routes.Config), func(r netstate.Route) bool {
			return slices.ContainsFunc(all, func(f Foreign) bool {
				return slices.ContainsFunc(f.Routes, func(o netstate.Route) bool { return netstate.SameRoute(o, r) })
			})
		})
		d.Routes = &routes
	}
	return d
}

func withoutAddresses(ip *netstate.IP, iface string, all []Foreign) *netstate.IP {
	if ip == nil {
		return nil
	}
	out := *ip
	out.Addresses = slices.DeleteFunc(slices.Clone(ip.Addresses), func(a netstate.Address) bool {
		p, err := a.Prefix()
		return err == nil && slices.ContainsFunc(all, func(f Foreign) bool {
			return f.Iface == iface && slices.Contains(f.Addresses, p.String())
		})
	})
	return &out
}
