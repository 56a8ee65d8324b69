package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// PutBack adds the addresses and routes that are missing, just as they were, and keeps the others. It returns in words what
// could not be added: an address that a route needs may come later, so the caller may try again, and in the end the owner
// is the one who knows.
func (f Foreign) PutBack() (pending []string) {
	note := func(what string, err error) {
		if err != nil && !errors.Is(err, unix.EEXIST) {
			pending = append(pending, fmt.Sprintf("%s on %s: %s", what, f.Iface, err))
		}
	}
	if len(f.WholeAddresses) == 0 {
		for _, a := range f.Addresses {
			note("address "+a, addPlainAddress(f.Iface, a))
		}
	}
	for _, m := range f.WholeAddresses {
		a, err := m.parseAddress()
		if err == nil {
			err = m.addAddress()
		}
		note("address "+a.prefix.String(), err)
	}
	if len(f.WholeRoutes) == 0 {
		for _, r := range f.Routes {
			note("route "+r.String(), addPlainRoute(f.Iface, r))
		}
	}
	for _, port := range f.Ports {
		note("port "+port, attachPort(f.Iface, port))
	}
	routes := slices.Concat(f.Connected, f.WholeRoutes)
	if len(routes) == 0 {
		return pending
	}
	all, err := ReadMessages()
	if err != nil {
		return append(pending, err.Error())
	}
	for _, m := range routes {
		if served, presence := f.isServed(m, all.routes); !served {
			note("route "+m.routeWords(), m.addRoute(presence))
		}
	}
	return pending
}

// isServed says that a route is there, or that its owner has put another in its place; where not, how to add it.
func (f Foreign) isServed(m Message, present []Message) (served bool, presence int) {
	presence = unix.NLM_F_EXCL
	want, err := m.parseRoute()
	if err != nil {
		return false, presence
	}
	known := map[routeKey]bool{}
	for _, o := range f.WholeRoutes {
		if r, err := o.parseRoute(); err == nil {
			known[r.routeKey] = true
		}
	}
	for _, p := range present {
		switch r, err := p.parseRoute(); {
		case err != nil:
		case r.isStripped(want):
			return false, unix.NLM_F_REPLACE
		case r.replaces(want) && (r.priority == want.priority || !known[r.routeKey]):
			served = true
		}
	}
	return served, presence
}

// addPlainAddress adds an address of which only the address is known.
func addPlainAddress(iface, text string) error {
	link, err := netlink.LinkByName(iface)
	if err != nil {
		return fmt.Errorf("find link %s: %w", iface, err)
	}
	a, err := netlink.ParseAddr(text)
	if err != nil {
		return fmt.Errorf("parse address %s: %w", text, err)
	}
	return netlink.AddrAdd(link, a)
}

// addPlainRoute adds a route of which only the journal of an earlier version tells.
func addPlainRoute(iface string, r netstate.Route) error {
	link, err := netlink.LinkByName(iface)
	if err != nil {
		return fmt.Errorf("find link %s: %w", iface, err)
	}
	dest, err := netstate.ParseDestination(r.Destination)
	if err != nil {
		return err
	}
	out := &netlink.Route{
		LinkIndex: link.Attrs().Index, Table: r.Table(), Priority: r.Metric, Protocol: unix.RTPROT_STATIC,
		Dst: &net.IPNet{IP: dest.Addr().AsSlice(), Mask: net.CIDRMask(dest.Bits(), dest.Addr().BitLen())},
	}
	if source, err := netip.ParseAddr(r.Source); err == nil {
		out.Src = source.AsSlice()
	}
	if hop, err := netip.ParseAddr(r.NextHopAddress); err == nil {
		out.Gw = hop.WithZone("").AsSlice()
	} else {
		out.Scope = netlink.SCOPE_LINK
	}
	return netlink.RouteAdd(out)
}
