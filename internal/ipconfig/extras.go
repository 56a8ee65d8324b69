package ipconfig

import (
	"fmt"
	"net/netip"
	"slices"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Extras are what the uplink of br-ex has by configuration: every address with its prefix length, and every static route. What
// OVN-Kubernetes adds by itself is left out.
type Extras struct {
	Addresses []netip.Prefix
	Routes    []netstate.Route
}

// inner are the networks from which OVN-Kubernetes takes what it adds to br-ex: link-local ones, and its masquerade network of IPv6.
var inner = [...]netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("fd69::/112"),
}

func isInner(a netip.Addr) bool {
	return slices.ContainsFunc(inner[:], func(p netip.Prefix) bool { return p.Contains(a) })
}

// ExtrasOf reads them from an observed document.
func ExtrasOf(doc netstate.Document, uplink string) (e Extras) {
	iface, _ := doc.Find(host.BridgeExternal, netstate.TypeOVSInterface)
	for _, ip := range []*netstate.IP{iface.IPv4, iface.IPv6} {
		if !ip.On() {
			continue
		}
		for _, a := range ip.Addresses {
			if at, err := netip.ParseAddr(a.IP); err == nil && !isInner(at) {
				e.Addresses = append(e.Addresses, netip.PrefixFrom(at, a.PrefixLength))
			}
		}
	}
	if doc.Routes == nil {
		return e
	}
	for _, r := range doc.Routes.Config {
		if (r.NextHopInterface == host.BridgeExternal || r.NextHopInterface == uplink) && !isOVNRoute(r) {
			e.Routes = append(e.Routes, r)
		}
	}
	return e
}

// isOVNRoute says that the route is one that OVN-Kubernetes makes again: to its inner networks, or over one of their hops. A default
// route over a link-local router of IPv6 is the node's.
func isOVNRoute(r netstate.Route) bool {
	to, err := netstate.ParseDestination(r.Destination)
	if err != nil || isInner(to.Addr()) {
		return true
	}
	hop, ok := hopOf(r)
	return ok && isInner(hop) && (hop.Is4() || !hop.IsLinkLocalUnicast())
}

// hopOf is the route's next hop; false where it leads to the link itself.
func hopOf(r netstate.Route) (netip.Addr, bool) {
	hop, err := netip.ParseAddr(r.NextHopAddress)
	return hop.WithZone(""), err == nil && !hop.IsUnspecified()
}

// Carried is what becomes of the extras in a change.
type Carried struct {
	// Kept goes on in the new network, Left does not.
	Kept, Left Extras
	// why names everything in Left, with the reason.
	why []string
}

// Carry judges the extras by the families as they will be. An address of another network stays, and one that fits the new
// network; a route stays whose next hop the node will reach.
func (e Extras) Carry(families []Family) (c Carried) {
	for _, a := range e.Addresses {
		f, changes := familyLike(families, a.Addr())
		switch old := e.linkOf(f); {
		case changes && (a.Addr() == f.Address || a.Addr() == f.CurrentAddress):
		case changes && old.Contains(a.Addr()) && !f.OnLink().Contains(a.Addr()):
			c.Left.Addresses = append(c.Left.Addresses, a)
			c.why = append(c.why, fmt.Sprintf("address %s: it is of the network %s, which the node leaves", a, old))
		default:
			c.Kept.Addresses = append(c.Kept.Addresses, a)
		}
	}
	for _, r := range e.Routes {
		f, changes := familyOfRoute(families, r)
		if changes && f.replaces(r) {
			continue
		}
		if why := e.unreachable(r, f, c.linksAfter(families)); changes && why != "" {
			c.Left.Routes = append(c.Left.Routes, r)
			c.why = append(c.why, RouteText(r)+": "+why)
			continue
		}
		c.Kept.Routes = append(c.Kept.Routes, sourceAfter(r, f))
	}
	return c
}

// Texts says of each what becomes of it.
func (c Carried) Texts() (out []string) {
	for _, a := range c.Kept.Addresses {
		out = append(out, fmt.Sprintf("kept: address %s", a))
	}
	for _, r := range c.Kept.Routes {
		out = append(out, "kept: "+RouteText(r))
	}
	for _, why := range c.why {
		out = append(out, "left: "+why)
	}
	return out
}

// Reasons says why what is left is left.
func (c Carried) Reasons() []string { return c.why }

// RouteText names a route as people do.
func RouteText(r netstate.Route) string {
	text := "route " + r.Destination
	if hop, ok := hopOf(r); ok {
		text += " via " + hop.String()
	}
	if r.Table() != netstate.MainTable {
		text += fmt.Sprintf(" of table %d", r.Table())
	}
	return text
}

// linkOf is the network that the node's present address of the family is on.
func (e Extras) linkOf(f Family) netip.Prefix {
	for _, a := range e.Addresses {
		if f.CurrentAddress.IsValid() && a.Addr() == f.CurrentAddress {
			return a.Masked()
		}
	}
	return f.CurrentNetwork
}

// linksAfter are the networks that the node will reach without a router.
func (c Carried) linksAfter(families []Family) (out []netip.Prefix) {
	for _, f := range families {
		out = append(out, f.OnLink())
	}
	for _, a := range c.Kept.Addresses {
		out = append(out, a.Masked())
	}
	return out
}

// unreachable says why the route would lead nowhere; empty where it would not.
func (e Extras) unreachable(r netstate.Route, f Family, links []netip.Prefix) string {
	within := func(a netip.Addr) bool {
		return slices.ContainsFunc(links, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	hop, ok := hopOf(r)
	if ok && !within(hop) && !hop.IsLinkLocalUnicast() {
		return fmt.Sprintf("its next hop %s is on no network of the node after the change", hop)
	}
	to, err := netstate.ParseDestination(r.Destination)
	if old := e.linkOf(f); !ok && err == nil && to.Bits() > 0 && old.IsValid() && old.Overlaps(to) && to.Bits() >= old.Bits() &&
		!within(to.Addr()) {
		return fmt.Sprintf("it leads into the network %s, which the node leaves", old)
	}
	return ""
}

// replaces says that the change writes the default route anew: it is over the router that the node leaves, or over the new one.
func (f Family) replaces(r netstate.Route) bool {
	to, err := netstate.ParseDestination(r.Destination)
	hop, ok := hopOf(r)
	return err == nil && to.Bits() == 0 && r.Table() == netstate.MainTable && ok && (hop == f.CurrentGateway || hop == f.Gateway)
}

func familyOfRoute(families []Family, r netstate.Route) (Family, bool) {
	to, err := netstate.ParseDestination(r.Destination)
	if err != nil {
		return Family{}, false
	}
	return familyLike(families, to.Addr())
}

func familyLike(families []Family, like netip.Addr) (Family, bool) {
	i := slices.IndexFunc(families, func(f Family) bool { return f.Address.Is4() == like.Is4() })
	if i < 0 {
		return Family{}, false
	}
	return families[i], true
}

// sourceAfter is the route with the node's new address as the source where its present one is.
func sourceAfter(r netstate.Route, f Family) netstate.Route {
	if f.CurrentAddress.IsValid() && SameAddr(r.Source, f.CurrentAddress.String()) {
		r.Source = f.Address.String()
	}
	return r
}

// Carry is what becomes of the extras of this node in a change of the spec; nothing where the spec is not one that can be judged.
func (current Current) Carry(spec lcav1.IPConfigSpec) Carried {
	families, err := BuildRequest("", "", spec, current).Families()
	if err != nil {
		return Carried{}
	}
	return current.Extras.Carry(families)
}
