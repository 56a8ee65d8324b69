package nm

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/godbus/dbus/v5"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// foreign are the addresses and routes that other programs (OVN-Kubernetes, keepalived)
// gave an interface besides its profile. NetworkManager drops them when it applies a
// profile again: the flag that should keep them (1.42) does so for IPv4 alone and then
// loses the IPv6 addresses of the profile. So this package puts them back.
type foreign struct {
	Iface     string           `json:"interface"`
	Addresses []string         `json:"addresses,omitempty"` // with prefix length
	Routes    []netstate.Route `json:"routes,omitempty"`
}

// foreignOn lists what the interface has and its profile does not know. Automatic
// addresses and routes are not foreign: DHCP and routers bring them again.
func foreignOn(k *kernel, iface string, s settings) foreign {
	out := foreign{Iface: iface}
	for _, l := range k.links {
		if l.Attrs().Name != iface {
			continue
		}
		for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			for _, p := range k.permanent[l.Attrs().Index][f] {
				same := func(e map[string]dbus.Variant) bool { return sameAddress(e, p) }
				if !slices.ContainsFunc(s.dicts(section(f), "address-data"), same) {
					out.Addresses = append(out.Addresses, p.String())
				}
			}
		}
	}
	for _, r := range configured(k.routes, k.protocols) {
		f, _ := r.Family()
		own, _ := profileRoutes(s, iface, f)
		if r.NextHopInterface == iface && !slices.ContainsFunc(own, func(o netstate.Route) bool { return netstate.SameRoute(o, r) }) {
			out.Routes = append(out.Routes, r)
		}
	}
	return out
}

// without leaves out what the document itself has an opinion on.
func (f foreign) without(want netstate.Document) foreign {
	out := foreign{Iface: f.Iface, Addresses: f.Addresses}
	for _, i := range want.Interfaces {
		for _, fam := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			if ip := fam.Of(i); i.Name == f.Iface && ip != nil && !ip.Enabled {
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

// restore adds what is missing of the addresses and routes; what is there stays.
func (f foreign) restore() error {
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

// implied is what a profile promises: its fixed addresses and routes, mentioned in the
// document or not.
func implied(iface string, s settings) netstate.Document {
	i := netstate.Interface{Name: iface, State: netstate.StateUp}
	var d netstate.Document
	d.Routes = &netstate.Routes{}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		method := value[string](s, section(f), "method")
		if method != "manual" && method != "auto" {
			continue
		}
		ip := &netstate.IP{Enabled: true}
		for _, e := range s.dicts(section(f), "address-data") {
			ip.Addresses = append(ip.Addresses, netstate.Address{
				IP: get[string](e, "address"), PrefixLength: int(get[uint32](e, "prefix")),
			})
		}
		if f == netstate.IPv4 {
			i.IPv4 = ip
		} else {
			i.IPv6 = ip
		}
		if method == "manual" {
			routes, _ := profileRoutes(s, iface, f)
			d.Routes.Config = append(d.Routes.Config, routes...)
		}
	}
	d.Interfaces = []netstate.Interface{i}
	return d
}
