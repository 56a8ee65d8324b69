package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/godbus/dbus/v5"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Foreign are the addresses and routes that other programs (OVN-Kubernetes, keepalived)
// gave an interface besides its profile. NetworkManager drops them when it applies a
// profile again: the flag that should keep them (1.42) does so for IPv4 alone and then
// loses the IPv6 addresses of the profile. So this package puts them back.
type Foreign struct {
	Iface     string           `json:"interface"`
	Addresses []string         `json:"addresses,omitempty"` // with prefix length
	Routes    []netstate.Route `json:"routes,omitempty"`
}

// ForeignOn lists what the interface has and its profile does not know. Automatic
// addresses and routes are not foreign: DHCP and routers bring them again.
func ForeignOn(k *State, iface string, s profile.Settings) Foreign {
	out := Foreign{Iface: iface}
	for _, l := range k.Links {
		if l.Attrs().Name != iface {
			continue
		}
		for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			for _, p := range k.permanent[l.Attrs().Index][f] {
				same := func(e map[string]dbus.Variant) bool { return profile.SameAddress(e, p) }
				if !slices.ContainsFunc(s.Dicts(profile.Section(f), "address-data"), same) {
					out.Addresses = append(out.Addresses, p.String())
				}
			}
		}
	}
	for _, r := range Configured(k.Routes, k.Protocols) {
		f, _ := r.Family()
		own, _ := profile.ProfileRoutes(s, iface, f)
		if r.NextHopInterface == iface && !slices.ContainsFunc(own, func(o netstate.Route) bool { return netstate.SameRoute(o, r) }) {
			out.Routes = append(out.Routes, r)
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
	for _, r := range f.Routes {
		if slices.ContainsFunc(netstate.MergeRoutes(f.Routes, config), func(m netstate.Route) bool { return netstate.SameRoute(m, r) }) {
			out.Routes = append(out.Routes, r)
		}
	}
	return out
}

// Restore adds the missing addresses and routes and keeps the others.
func (f Foreign) Restore() error {
	if len(f.Addresses)+len(f.Routes) == 0 {
		return nil
	}
	link, err := netlink.LinkByName(f.Iface)
	if err != nil {
		return fmt.Errorf("interface %s: %w", f.Iface, err)
	}
	for _, text := range f.Addresses {
		a, err := netlink.ParseAddr(text)
		if err != nil {
			return fmt.Errorf("address %s: %w", text, err)
		}
		if err := netlink.AddrAdd(link, a); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("put address %s of another program back on %s: %w", text, f.Iface, err)
		}
	}
	for _, r := range f.Routes {
		if err := addRoute(link, r); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("put route %s of another program back: %w", r, err)
		}
	}
	return nil
}

func addRoute(link netlink.Link, r netstate.Route) error {
	dest, err := netstate.ParseDestination(r.Destination)
	if err != nil {
		return err
	}
	out := &netlink.Route{
		LinkIndex: link.Attrs().Index, Table: r.Table(), Priority: r.Metric, Protocol: unix.RTPROT_STATIC,
		Dst: &net.IPNet{IP: dest.Addr().AsSlice(), Mask: net.CIDRMask(dest.Bits(), dest.Addr().BitLen())},
	}
	if hop, err := netip.ParseAddr(r.NextHopAddress); err == nil {
		out.Gw = hop.WithZone("").AsSlice()
	} else {
		out.Scope = netlink.SCOPE_LINK
	}
	return netlink.RouteAdd(out)
}
