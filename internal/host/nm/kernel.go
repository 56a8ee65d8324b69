package nm

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// kernel is what rtnetlink says at one moment.
type kernel struct {
	links      []netlink.Link
	addresses  map[int]map[netstate.Family][]netip.Prefix // by link index, usable ones
	permanent  map[int]map[netstate.Family][]netip.Prefix // of these, the ones without end
	speaksIPv6 map[int]bool                               // has any IPv6 address, link-local too
	routes     []netstate.Route
	protocols  []int // of routes, in step
}

func readKernel() (*kernel, error) {
	k := &kernel{
		addresses: map[int]map[netstate.Family][]netip.Prefix{}, permanent: map[int]map[netstate.Family][]netip.Prefix{},
		speaksIPv6: map[int]bool{},
	}
	var err error
	if k.links, err = netlink.LinkList(); err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	if err := k.readAddresses(); err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	if err := k.readRoutes(); err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return k, nil
}

func (k *kernel) nameOf(index int) string {
	for _, l := range k.links {
		if l.Attrs().Index == index {
			return l.Attrs().Name
		}
	}
	return ""
}

func (k *kernel) readAddresses() error {
	all, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
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
			k.speaksIPv6[a.LinkIndex] = true
		}
		if !usable(a.Flags) || (f == netstate.IPv6 && p.Addr().IsLinkLocalUnicast()) {
			continue
		}
		note(k.addresses, a.LinkIndex, f, p)
		if a.Flags&unix.IFA_F_PERMANENT != 0 {
			note(k.permanent, a.LinkIndex, f, p)
		}
	}
	return nil
}

func note(m map[int]map[netstate.Family][]netip.Prefix, link int, f netstate.Family, p netip.Prefix) {
	if m[link] == nil {
		m[link] = map[netstate.Family][]netip.Prefix{}
	}
	m[link][f] = append(m[link][f], p)
}

// readRoutes keeps the unicast routes that a person, NetworkManager, DHCP or a router set.
func (k *kernel) readRoutes() error {
	all, err := netlink.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Type != unix.RTN_UNICAST || r.Table == unix.RT_TABLE_LOCAL || r.Protocol == unix.RTPROT_KERNEL ||
			r.Protocol == unix.RTPROT_REDIRECT || r.Protocol == unix.RTPROT_BGP {
			continue
		}
		k.addRoute(r, r.LinkIndex, r.Gw)
		for _, hop := range r.MultiPath {
			k.addRoute(r, hop.LinkIndex, hop.Gw)
		}
	}
	return nil
}

func (k *kernel) addRoute(r netlink.Route, link int, gw net.IP) {
	if link == 0 {
		return // a multipath route: its hops follow
	}
	out := netstate.Route{Destination: destination(r), NextHopInterface: k.nameOf(link), Metric: r.Priority, TableID: r.Table}
	if a, ok := netip.AddrFromSlice(gw); ok {
		out.NextHopAddress = a.Unmap().String()
	}
	k.routes = append(k.routes, out)
	k.protocols = append(k.protocols, int(r.Protocol))
}

func destination(r netlink.Route) string {
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
