package hostnet

import (
	"fmt"
	"net/netip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// State is the host as an nmstate document, which finds interfaces by name only.
func (h Host) State() (netstate.Document, error) {
	if err := h.Validate(); err != nil {
		return netstate.Document{}, err
	}
	for _, i := range h.Interfaces {
		if i.Name == "" {
			return netstate.Document{}, fmt.Errorf("host %s: interface %s: an nmstate document needs its name", h.Name, i.MAC)
		}
	}
	return h.newDocument(), nil
}

func (h Host) newDocument() netstate.Document {
	var d netstate.Document
	for _, i := range h.Interfaces {
		if i.Name != "" {
			d.Interfaces = append(d.Interfaces, i.toState())
			i.addRoutes(&d)
		}
		for _, a := range i.DNS {
			d = withServer(d, a)
		}
	}
	return d
}

// toState makes the interface; the one below a VLAN is the host's own affair. It says no MAC
// address: in an nmstate document that would set one.
func (i Interface) toState() netstate.Interface {
	s := netstate.Interface{
		Name: i.Device(), Type: netstate.TypeEthernet, State: netstate.StateUp, MTU: i.MTU,
		IPv4: i.ipOf(netstate.IPv4), IPv6: i.ipOf(netstate.IPv6),
	}
	if i.VLAN != 0 {
		s.Type, s.VLAN = netstate.TypeVLAN, &netstate.VLAN{ID: i.VLAN, BaseIface: i.Name}
	}
	return s
}

func (i Interface) ipOf(f netstate.Family) *netstate.IP {
	ip := netstate.Disabled()
	for _, a := range i.Of(f) {
		ip.Enabled = new(true)
		ip.Addresses = append(ip.Addresses, netstate.Address{IP: a.Prefix.Addr().String(), PrefixLength: a.Prefix.Bits()})
	}
	if ip.On() {
		no := false
		ip.DHCP = &no
		if f == netstate.IPv6 {
			ip.Autoconf = &no
		}
	}
	return ip
}

func (i Interface) addRoutes(d *netstate.Document) {
	for _, r := range i.AllRoutes() {
		if d.Routes == nil {
			d.Routes = &netstate.Routes{}
		}
		d.Routes.Config = append(d.Routes.Config, netstate.Route{
			Destination: r.Destination.String(), NextHopInterface: i.Device(), NextHopAddress: r.Via.String(),
		})
	}
}

// AllRoutes are the routes with the default ones, where the interface has them.
func (i Interface) AllRoutes() []Route {
	out := append([]Route(nil), i.Routes...)
	for _, a := range i.Addresses {
		if i.Default && a.Gateway.IsValid() {
			out = append(out, Route{Destination: defaultRoute(a.Gateway), Via: a.Gateway})
		}
	}
	return out
}

func defaultRoute(like netip.Addr) netip.Prefix {
	if like.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

func withServer(d netstate.Document, a netip.Addr) netstate.Document {
	if d.DNS == nil {
		d.DNS = &netstate.DNS{Config: &netstate.Resolver{}}
	}
	d.DNS.Config.Server = append(d.DNS.Config.Server, a.String())
	return d
}
