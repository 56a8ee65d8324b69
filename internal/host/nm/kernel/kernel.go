// Package kernel observes links, addresses and routes through rtnetlink, and restores addresses and routes that other
// programs than NetworkManager configured.
//
// Package nm uses it; it imports netstate, nm/profile, netlink and golang.org/x/sys.
package kernel

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// State is what rtnetlink says at one moment.
type State struct {
	Links      []netlink.Link
	Addresses  map[int]map[netstate.Family][]netip.Prefix // by link index, usable ones
	permanent  map[int]map[netstate.Family][]netip.Prefix // of these, the ones without end
	SpeaksIPv6 map[int]bool                               // has any IPv6 address, link-local too
	Routes     []netstate.Route
	Protocols  []int // of routes, in step
	names      map[int]string
	indexes    map[string]int

	withoutCarrier map[int]bool
}

// Read asks the kernel for links, addresses and routes.
func Read() (*State, error) {
	k := &State{
		Addresses: map[int]map[netstate.Family][]netip.Prefix{}, permanent: map[int]map[netstate.Family][]netip.Prefix{},
		SpeaksIPv6: map[int]bool{}, names: map[int]string{}, indexes: map[string]int{},
		withoutCarrier: map[int]bool{},
	}
	var err error
	if k.Links, err = List(netlink.LinkList); err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	for _, l := range k.Links {
		k.names[l.Attrs().Index], k.indexes[l.Attrs().Name] = l.Attrs().Name, l.Attrs().Index
		k.withoutCarrier[l.Attrs().Index] = l.Attrs().RawFlags&unix.IFF_LOWER_UP == 0
	}
	if err := k.readAddresses(); err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	if err := k.readRoutes(); err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return k, nil
}

// NameOf is the name of the link with the index; empty where there is none.
func (k *State) NameOf(index int) string { return k.names[index] }

// IndexOf is the index of the link; 0 where there is none.
func (k *State) IndexOf(name string) int { return k.indexes[name] }

// IsLeased says that an address of a link ends by itself unless it is renewed.
func (k *State) IsLeased(link int, p netip.Prefix) bool {
	return !slices.Contains(k.permanent[link][netstate.FamilyOf(p.Addr())], p)
}

func (k *State) readAddresses() error {
	all, err := List(func() ([]netlink.Addr, error) { return netlink.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return err
	}
	for _, a := range all {
		p, ok := prefixOf(a)
		if !ok {
			continue
		}
		f := netstate.FamilyOf(p.Addr())
		if f == netstate.IPv6 {
			k.SpeaksIPv6[a.LinkIndex] = true
		}
		if !k.isInForce(a) || (f == netstate.IPv6 && p.Addr().IsLinkLocalUnicast()) {
			continue
		}
		addPrefix(k.Addresses, a.LinkIndex, f, p)
		if a.Flags&unix.IFA_F_PERMANENT != 0 {
			addPrefix(k.permanent, a.LinkIndex, f, p)
		}
	}
	return nil
}

func addPrefix(m map[int]map[netstate.Family][]netip.Prefix, link int, f netstate.Family, p netip.Prefix) {
	if m[link] == nil {
		m[link] = map[netstate.Family][]netip.Prefix{}
	}
	m[link][f] = append(m[link][f], p)
}

// readRoutes keeps the unicast routes that a person, NetworkManager, DHCP or a router set.
func (k *State) readRoutes() error {
	all, err := List(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(r netlink.Route) bool { return r.Cwnd != 0 }) {
		if err := dropUnlockedWindows(all); err != nil {
			return err
		}
	}
	for _, r := range all {
		kind, nowhere := nowhereTypes[r.Type]
		if !nowhere && r.Type != unix.RTN_UNICAST || r.Table == unix.RT_TABLE_LOCAL || r.Protocol == unix.RTPROT_KERNEL ||
			r.Protocol == unix.RTPROT_REDIRECT || r.Protocol == unix.RTPROT_BGP {
			continue
		}
		if nowhere {
			k.noteRoute(r, netstate.Route{RouteType: kind})
			continue
		}
		k.addRoute(r, r.LinkIndex, r.Gw, 0)
		for _, hop := range r.MultiPath {
			weight := 0 // of IPv6 nothing in a document can say it
			if r.Family == netlink.FAMILY_V4 {
				weight = hop.Hops + 1
			}
			k.addRoute(r, hop.LinkIndex, hop.Gw, weight)
		}
	}
	return nil
}

// nowhereTypes are the kernel's kinds of routes that drop packets, in nmstate's words.
var nowhereTypes = map[int]string{unix.RTN_BLACKHOLE: "blackhole", unix.RTN_UNREACHABLE: "unreachable", unix.RTN_PROHIBIT: "prohibit"}

// addRoute notes one hop; weight is 0 but for one of several.
func (k *State) addRoute(r netlink.Route, link int, gw net.IP, weight int) {
	if link == 0 {
		return // a multipath route: its hops follow
	}
	out := netstate.Route{NextHopInterface: k.NameOf(link), Weight: weight, CWND: r.Cwnd}
	if a, ok := netip.AddrFromSlice(gw); ok {
		out.NextHopAddress = a.Unmap().String()
	}
	k.noteRoute(r, out)
}

// noteRoute completes a route with what all kinds have.
func (k *State) noteRoute(r netlink.Route, out netstate.Route) {
	out.Destination, out.Metric, out.TableID = destinationOf(r), r.Priority, r.Table
	if a, ok := netip.AddrFromSlice(r.Src); ok {
		out.Source = a.Unmap().String()
	}
	k.Routes = append(k.Routes, out)
	k.Protocols = append(k.Protocols, int(r.Protocol))
}

func destinationOf(r netlink.Route) string {
	f := netstate.IPv4
	if r.Family == netlink.FAMILY_V6 {
		f = netstate.IPv6
	}
	if r.Dst == nil {
		return f.Default().String()
	}
	a, _ := netip.AddrFromSlice(r.Dst.IP)
	ones, _ := r.Dst.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), ones).String()
}

// Configured picks the routes that were configured; the others came by themselves
// (router advertisements, DHCP).
func Configured(routes []netstate.Route, protocols []int) []netstate.Route {
	var out []netstate.Route
	for i, r := range routes {
		if protocols[i] == unix.RTPROT_STATIC || protocols[i] == unix.RTPROT_BOOT {
			out = append(out, r)
		}
	}
	return out
}

// isInForce says that packets may carry the address as source, or that they may once the link is there: without a carrier the kernel
// cannot look for another host with it, and the address stays tentative.
func (k *State) isInForce(a netlink.Addr) bool {
	return isUsable(a.Flags) || a.Flags&unix.IFA_F_DADFAILED == 0 && k.withoutCarrier[a.LinkIndex]
}

// isUsable says that packets may carry the address as source.
func isUsable(flags int) bool {
	return flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) == 0 || flags&unix.IFA_F_OPTIMISTIC != 0
}

func prefixOf(a netlink.Addr) (netip.Prefix, bool) {
	ip, ok := netip.AddrFromSlice(a.IP)
	if !ok || a.IPNet == nil {
		return netip.Prefix{}, false
	}
	ones, _ := a.Mask.Size()
	return netip.PrefixFrom(ip.Unmap(), ones), true
}
