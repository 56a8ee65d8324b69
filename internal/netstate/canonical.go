package netstate

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// Canonical is the document in the one form that equal documents share: interfaces by name, addresses and networks
// in their shortest spelling, MAC addresses in capitals, ports sorted, names of bond modes in words, and routes
// without what the default says. It does not change the document that it is called on.
func (d Document) Canonical() Document {
	d.Interfaces = slices.Clone(d.Interfaces)
	for k := range d.Interfaces {
		d.Interfaces[k] = d.Interfaces[k].canonical()
	}
	slices.SortStableFunc(d.Interfaces, func(a, b Interface) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	if r := d.Routes; r != nil {
		d.Routes = &Routes{Running: canonicalRoutes(r.Running), Config: canonicalRoutes(r.Config)}
	}
	if r := d.DNS; r != nil {
		d.DNS = &DNS{Running: r.Running.canonical(), Config: r.Config.canonical()}
	}
	if r := d.RouteRules; r != nil {
		d.RouteRules = &RouteRules{Running: canonicalRules(r.Running), Config: canonicalRules(r.Config)}
	}
	d.OVSDB, d.OVN = d.OVSDB.canonical(), d.OVN.canonical()
	return d
}

func (i Interface) canonical() Interface {
	i.State = cmp.Or(i.State, StateUp)
	i.MACAddress, i.PermanentMACAddress = strings.ToUpper(i.MACAddress), strings.ToUpper(i.PermanentMACAddress)
	i.IPv4, i.IPv6 = i.IPv4.canonical(), i.IPv6.canonical()
	if i.ProfileName == i.Name {
		i.ProfileName = "" // the name of a profile where the document gives none
	}
	if textOf(i.Description) == "" {
		i.Description = nil
	}
	i.MPTCP = i.MPTCP.canonical()
	if i.Bond != nil {
		i.Bond = i.Bond.canonical()
	}
	if i.VRF != nil {
		v := *i.VRF
		v.Ports = sortedStrings(v.Ports)
		i.VRF = &v
	}
	if i.Bridge != nil {
		i.Bridge = i.Bridge.canonical()
	}
	if i.Ethtool != nil {
		i.Ethtool = i.Ethtool.canonical()
	}
	if i.VLAN != nil && i.VLAN.Protocol == "" {
		return i
	}
	if i.VLAN != nil {
		v := *i.VLAN
		v.Protocol = strings.ToLower(v.Protocol)
		i.VLAN = &v
	}
	return i
}

// sortedStrings keeps the difference between no list and an empty one.
func sortedStrings(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return out
}

// canonical leaves out link-local IPv6 addresses and those of the loopback interface: the kernel assigns them.
func (ip *IP) canonical() *IP {
	if ip == nil {
		return nil
	}
	out := *ip
	if ip.AutoRouteMetric != nil && *ip.AutoRouteMetric == keys.MetricUnset {
		out.AutoRouteMetric = nil
	}
	for _, id := range []**string{&out.DHCPClientID, &out.DHCPDUID} {
		if textOf(*id) == "" {
			*id = nil
		}
	}
	if ip.AddrGenMode == keys.AddrGenModeUnset {
		out.AddrGenMode = ""
	}
	if ip.Token != nil {
		if a, err := netip.ParseAddr(*ip.Token); err == nil && a.IsUnspecified() {
			out.Token = new("") // none
		} else if err == nil {
			out.Token = new(a.String())
		}
	}
	if ip.Addresses != nil {
		out.Addresses = make([]Address, 0, len(ip.Addresses))
	}
	for _, a := range ip.Addresses {
		if p, err := a.Prefix(); err == nil {
			if p.Addr().Is6() && p.Addr().IsLinkLocalUnicast() || IsKernelLoopback(p) {
				continue
			}
			a.IP = p.Addr().String()
		}
		out.Addresses = append(out.Addresses, a)
	}
	return &out
}

// bondModes are the kernel's numbers of the modes.
var bondModes = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}

func (b *Bond) canonical() *Bond {
	out := *b
	for n, name := range bondModes {
		if b.Mode == string(rune('0'+n)) {
			out.Mode = name
		}
	}
	out.Ports = sortedStrings(b.Ports)
	if b.Options != nil {
		out.Options = make(Options, len(b.Options))
		for k, v := range b.Options {
			out.Options[k] = CanonicalBondOption(k, v)
		}
	}
	return &out
}

// canonical has features by the kernel's names.
func (e *Ethtool) canonical() *Ethtool {
	out := *e
	if e.Features != nil {
		out.Features = make(map[string]bool, len(e.Features))
		for name, on := range e.Features {
			out.Features[keys.Feature(name)] = on
		}
	}
	return &out
}

// switchNames are words for the two values of an option that has numbers here.
var switchNames = map[string]string{"true": "1", "false": "0", "delivered": "1", "dropped": "0"}

// CanonicalBondOption turns the kernel's number of a named value into the name, and a word for a switch into its number.
func CanonicalBondOption(key, value string) string {
	names := bondValues[key]
	for n, name := range names {
		if value == string(rune('0'+n)) {
			return name
		}
	}
	if number, known := switchNames[strings.ToLower(value)]; known && bondOptions[key] == 1 {
		return number
	}
	return value
}

func (b *Bridge) canonical() *Bridge {
	out := *b
	if b.Options != nil {
		o := *b.Options
		o.GroupAddr, o.VLANProtocol = strings.ToUpper(o.GroupAddr), strings.ToLower(o.VLANProtocol)
		o.MulticastRouter = MulticastRouter(o.MulticastRouter)
		out.Options = &o
	}
	if b.Ports != nil {
		out.Ports = slices.Clone(b.Ports)
		slices.SortStableFunc(out.Ports, func(x, y BridgePort) int { return cmp.Compare(x.Name, y.Name) })
		for n := range out.Ports {
			out.Ports[n].VLAN = out.Ports[n].VLAN.Canonical()
			out.Ports[n].Bond = out.Ports[n].Bond.canonical()
		}
	}
	return &out
}

// canonical has the members in the order of their names: a bond has none.
func (b *PortBond) canonical() *PortBond {
	if b == nil || b.Ports == nil {
		return b
	}
	out := *b
	out.Ports = slices.Clone(b.Ports)
	slices.SortStableFunc(out.Ports, func(x, y BondMember) int { return cmp.Compare(x.Name, y.Name) })
	return &out
}

// MulticastRouter is the name of a mode, which the kernel numbers.
func MulticastRouter(mode string) string {
	names := []string{"disabled", "auto", "enabled"}
	for n, name := range names {
		if mode == string(rune('0'+n)) {
			return name
		}
	}
	return mode
}

func canonicalRoutes(in []Route) []Route {
	if in == nil {
		return nil
	}
	out := slices.Clone(in)
	for k, r := range out {
		if r.Weight > 0 && !r.isMultipath(in) {
			out[k].Weight = 0 // among one
		}
		if p, err := ParseDestination(r.Destination); err == nil {
			out[k].Destination = p.String()
		}
		if a, err := netip.ParseAddr(r.NextHopAddress); err == nil {
			out[k].NextHopAddress = a.String()
		}
		if a, err := netip.ParseAddr(r.Source); err == nil {
			out[k].Source = a.String()
		}
		if r.dropsPackets() {
			out[k].NextHopInterface, out[k].NextHopAddress = "", ""
		}
		if r.TableID == 0 && !r.Removes() {
			out[k].TableID = MainTable
		}
	}
	slices.SortStableFunc(out, func(a, b Route) int {
		return cmp.Or(cmp.Compare(b.State, a.State), cmp.Compare(a.TableID, b.TableID), cmp.Compare(a.NextHopInterface, b.NextHopInterface),
			cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.NextHopAddress, b.NextHopAddress), cmp.Compare(a.Metric, b.Metric))
	})
	return out
}

func canonicalRules(in []RouteRule) []RouteRule {
	if in == nil {
		return nil
	}
	out := slices.Clone(in)
	for k := range out {
		out[k] = out[k].canonical()
	}
	slices.SortStableFunc(out, func(a, b RouteRule) int {
		return cmp.Or(cmp.Compare(b.State, a.State), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.String(), b.String()))
	})
	return out
}

func (r *Resolver) canonical() *Resolver {
	if r == nil {
		return nil
	}
	out := *r
	out.Server = slices.Clone(r.Server)
	for k, s := range out.Server {
		if a, err := netip.ParseAddr(s); err == nil {
			out.Server[k] = a.String()
		}
	}
	return &out
}

// Redacted is the document without what must not be shown.
func (d Document) Redacted() Document {
	d = tree.Hide(d)
	for k := range d.Interfaces {
		if o := &d.Interfaces[k].IPSec; *o != nil {
			*o = &Opaque{Value: tree.Hidden}
		}
	}
	return d
}
