// Package network makes the network of a change: what carries br-ex now, and the nmstate document that a request comes to.
//
// The flows of an IP change apply the document, the controller shows it before that. It asks the ports of internal/host and changes
// nothing; it imports netstate and the domain, no adapter, no flow, no controller.
package network

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Uplink is the interface below br-ex.
type Uplink struct {
	// Name is the port of br-ex: the network card, or a VLAN on it.
	Name string
	// Base is the network card or bond; the same as Name without a VLAN.
	Base string
	// Type is the base's type, which the change keeps; empty means ethernet.
	Type string
	// VLAN is the tag in use; 0 for none.
	VLAN int
	// Extras are its addresses and static routes.
	Extras ipconfig.Extras
}

// Find finds the interface that carries br-ex and whether it is tagged.
func Find(ctx context.Context, sw host.Switch, now netstate.Document) (Uplink, error) {
	name, err := sw.Uplink(ctx, host.BridgeExternal)
	if err != nil {
		return Uplink{}, fmt.Errorf("find the uplink of %s: %w", host.BridgeExternal, err)
	}
	return In(now, name), nil
}

// In is what the observed document says of the uplink of that name.
func In(now netstate.Document, name string) Uplink {
	u := Uplink{Name: name, Base: name, Extras: ipconfig.ExtrasOf(now, name)}
	if i, ok := now.Find(name, netstate.TypeVLAN); ok && i.VLAN != nil {
		u.Base, u.VLAN = i.VLAN.BaseIface, i.VLAN.ID
	}
	if base, ok := now.Find(u.Base, ""); ok {
		u.Type = base.Type
	}
	return u
}

// After is the uplink as a request leaves it.
func (u Uplink) After(vlan int) Uplink {
	if vlan == u.VLAN {
		return u
	}
	if vlan == 0 {
		return Uplink{Name: u.Base, Base: u.Base, Type: u.Type}
	}
	return Uplink{Name: vlanName(u.Base, vlan), Base: u.Base, VLAN: vlan, Type: u.Type}
}

// vlanName is the name of a VLAN on an interface. The kernel refuses a name that is too long, as cards of many ports would
// give: of such a one the beginning serves.
func vlanName(base string, vlan int) string {
	tag := "." + strconv.Itoa(vlan)
	return base[:min(len(base), netstate.MaxNameLength-len(tag))] + tag
}

// Render writes the network of the request as an nmstate document for the
// uplink: br-ex does not exist when it is applied, and is built over the
// uplink, taking its configuration, when kubelet's dependencies start.
func Render(r ipconfig.Request, before Uplink) (netstate.Document, error) {
	families, err := r.Families()
	if err != nil {
		return netstate.Document{}, fmt.Errorf("render the network: %w", err)
	}
	after, carried := before.After(r.VLANID), before.Extras.Carry(families)
	doc := netstate.Document{Interfaces: renderInterfaces(before, after, families, carried.Kept.Addresses), Routes: &netstate.Routes{}}
	doc.Routes.Config = renderExtras(carried, before, after)
	for _, f := range families {
		doc.Routes.Config = append(doc.Routes.Config, renderRoutes(f, before, after)...)
	}
	if len(r.DNSServers) > 0 {
		doc.DNS = &netstate.DNS{Config: &netstate.Resolver{Server: r.DNSServers}}
	}
	return doc, nil
}

// renderExtras removes the routes that would lead nowhere, and has the others on the interface that carries the new address.
func renderExtras(carried ipconfig.Carried, before, after Uplink) (out []netstate.Route) {
	for _, r := range carried.Left.Routes {
		if before.Name == after.Name {
			out = append(out, netstate.Route{
				Destination: r.Destination, NextHopInterface: before.Name, NextHopAddress: r.NextHopAddress, TableID: r.TableID,
				State: netstate.StateAbsent,
			})
		}
	}
	for _, r := range carried.Kept.Routes {
		r.NextHopInterface = after.Name
		out = append(out, r)
	}
	return out
}

func renderInterfaces(before, after Uplink, families []ipconfig.Family, kept []netip.Prefix) []netstate.Interface {
	base := cmp.Or(after.Type, netstate.TypeEthernet)
	carrier := netstate.Interface{Name: after.Name, Type: base, State: netstate.StateUp}
	carrier.IPv4, carrier.IPv6 = renderIP(families, kept, true), renderIP(families, kept, false)
	var out []netstate.Interface
	if after.VLAN > 0 {
		carrier.Type = netstate.TypeVLAN
		carrier.VLAN = &netstate.VLAN{ID: after.VLAN, BaseIface: after.Base}
		out = append(out, netstate.Interface{
			Name: after.Base, Type: base, State: netstate.StateUp,
			IPv4: netstate.Disabled(), IPv6: netstate.Disabled(),
		})
	}
	out = append(out, carrier)
	if before.VLAN > 0 && before.Name != after.Name {
		out = append(out, netstate.Interface{Name: before.Name, Type: netstate.TypeVLAN, State: netstate.StateAbsent})
	}
	return out
}

// renderIP is one family of the interface: the new address first, by which others choose, and the kept ones after it.
func renderIP(families []ipconfig.Family, kept []netip.Prefix, v4 bool) *netstate.IP {
	no := false
	out := &netstate.IP{Enabled: new(true), DHCP: &no}
	if !v4 {
		out.Autoconf = &no
	}
	add := func(p netip.Prefix) {
		if p.Addr().Is4() == v4 {
			out.Addresses = append(out.Addresses, netstate.Address{IP: p.Addr().String(), PrefixLength: p.Bits()})
		}
	}
	for _, f := range families {
		add(f.Prefix())
	}
	for _, p := range kept {
		add(p)
	}
	if len(out.Addresses) == 0 {
		return netstate.Disabled()
	}
	return out
}

func renderRoutes(f ipconfig.Family, before, after Uplink) (out []netstate.Route) {
	destination := "0.0.0.0/0"
	if f.Address.Is6() {
		destination = "::/0"
	}
	if f.CurrentGateway.IsValid() && f.CurrentGateway != f.Gateway && before.Name == after.Name {
		out = append(out, netstate.Route{
			Destination: destination, NextHopInterface: before.Name,
			NextHopAddress: f.CurrentGateway.String(), State: netstate.StateAbsent,
		})
	}
	if f.Gateway.IsValid() {
		out = append(out, netstate.Route{
			Destination: destination, NextHopInterface: after.Name, NextHopAddress: f.Gateway.String(),
			Metric: ipconfig.DefaultRouteMetric, TableID: netstate.MainTable,
		})
	}
	return out
}
