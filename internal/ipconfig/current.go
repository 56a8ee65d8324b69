package ipconfig

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Current is the node's network as observed.
type Current struct {
	IPv4, IPv6   *lcav1.IPStatus
	DNSServers   []string
	VLANID       int32
	FilterFamily lcav1.DNSFilterFamily
	// Dynamic names the families of br-ex that DHCP or autoconfiguration feeds.
	Dynamic []string
	// Uplink is the interface attached to br-ex; empty where it is unknown.
	Uplink string
	// Carrier and CarrierType are the interface that carries the frames, and nmstate's name of its type: the uplink itself, or
	// what a VLAN is on. The type is empty where the interface is not observed.
	Carrier, CarrierType string
	// Routes are those of the main table.
	Routes []netstate.Route
	// Extras are all addresses and static routes of the uplink.
	Extras Extras
}

// DefaultRouteMetric is what the default routes get that a change makes: what configure-ovs gives br-ex.
const DefaultRouteMetric = 48

// InSync says whether the node's network already is what the spec asks for, and if
// not, which fields differ.
func InSync(spec lcav1.IPConfigSpec, now Current) (differences []string) {
	if spec.IPv4 != nil {
		differences = append(differences, familyDiff("ipv4", spec.IPv4.Address, spec.IPv4.MachineNetwork, spec.IPv4.Gateway, now.IPv4)...)
	}
	if spec.IPv6 != nil {
		differences = append(differences, familyDiff("ipv6", spec.IPv6.Address, spec.IPv6.MachineNetwork, spec.IPv6.Gateway, now.IPv6)...)
	}
	if len(spec.DNSServers) > 0 && !sameAddrs(spec.DNSServers, now.DNSServers) {
		differences = append(differences, "dnsServers")
	}
	if id, said := DesiredVLAN(spec); said && id != now.VLANID {
		differences = append(differences, "vlanID")
	}
	if spec.DNSFilterOutFamily != "" && spec.DNSFilterOutFamily != filterOf(now) {
		differences = append(differences, "dnsFilterOutFamily")
	}
	return differences
}

// BothValues are what spec and node have in a field that InSync names, as people read them.
func BothValues(spec lcav1.IPConfigSpec, now Current, field string) (want, have string) {
	family, part, _ := strings.Cut(field, ".")
	switch {
	case family == "ipv4" && spec.IPv4 != nil:
		return partOf(part, spec.IPv4.Address, spec.IPv4.MachineNetwork, spec.IPv4.Gateway), statusPart(part, now.IPv4)
	case family == "ipv6" && spec.IPv6 != nil:
		return partOf(part, spec.IPv6.Address, spec.IPv6.MachineNetwork, spec.IPv6.Gateway), statusPart(part, now.IPv6)
	case field == "dnsServers":
		return strings.Join(spec.DNSServers, ", "), orNone(strings.Join(now.DNSServers, ", "))
	case field == "vlanID":
		id, _ := DesiredVLAN(spec)
		return strconv.Itoa(int(id)), strconv.Itoa(int(now.VLANID))
	}
	return string(spec.DNSFilterOutFamily), string(filterOf(now))
}

func statusPart(part string, now *lcav1.IPStatus) string {
	if now == nil {
		return "none"
	}
	return partOf(part, now.Address, now.MachineNetwork, now.Gateway)
}

func partOf(part, address, network, gateway string) string {
	return orNone(map[string]string{"address": address, "machineNetwork": network, "gateway": gateway}[part])
}

func orNone(value string) string { return cmp.Or(value, "none") }

func filterOf(now Current) lcav1.DNSFilterFamily {
	if now.FilterFamily == "" {
		return lcav1.DNSFilterNone
	}
	return now.FilterFamily
}

func familyDiff(name, address, network, gateway string, now *lcav1.IPStatus) (differences []string) {
	if now == nil {
		return []string{name + ".address"}
	}
	if !SameAddr(address, now.Address) {
		differences = append(differences, name+".address")
	}
	if network != "" && !SamePrefix(network, now.MachineNetwork) {
		differences = append(differences, name+".machineNetwork")
	}
	if gateway != "" && !SameAddr(gateway, now.Gateway) {
		differences = append(differences, name+".gateway")
	}
	return differences
}

// SameAddr compares two addresses as values: 2001:db8::1 is 2001:DB8:0::1.
func SameAddr(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x.WithZone("") == y.WithZone("")
}

// SamePrefix compares two networks as values.
func SamePrefix(a, b string) bool {
	x, errX := netip.ParsePrefix(a)
	y, errY := netip.ParsePrefix(b)
	return errX == nil && errY == nil && x.Masked() == y.Masked()
}

func sameAddrs(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !SameAddr(a[i], b[i]) {
			return false
		}
	}
	return true
}

// DesiredVLAN is the VLAN that the spec requests, 0 for none, and whether it requests any: without one the node keeps
// what it has.
func DesiredVLAN(spec lcav1.IPConfigSpec) (id int32, said bool) {
	if spec.VLANID == nil {
		return 0, false
	}
	return *spec.VLANID, true
}

// Describe adds what the observed document says of br-ex. The families must be known: a family without an address gets no
// gateway.
func (current *Current) Describe(doc netstate.Document) {
	if doc.DNS != nil && doc.DNS.Running != nil {
		current.DNSServers = doc.DNS.Running.Server
	}
	if current.IPv4 != nil {
		current.IPv4.Gateway = defaultGatewayOf(doc, "0.0.0.0/0")
		current.IPv4.PrefixLength = prefixLength(doc, current.IPv4.Address)
	}
	if current.IPv6 != nil {
		current.IPv6.Gateway = defaultGatewayOf(doc, "::/0")
		current.IPv6.PrefixLength = prefixLength(doc, current.IPv6.Address)
	}
	if doc.Routes != nil {
		elsewhere := func(r netstate.Route) bool { return r.Table() != netstate.MainTable }
		current.Routes = slices.DeleteFunc(slices.Clone(doc.Routes.Running), elsewhere)
	}
	current.Dynamic = dynamicFamilies(doc)
	current.Uplink = uplinkPort(doc)
	current.Extras = ExtrasOf(doc, current.Uplink)
	current.Carrier = current.Uplink
	if port, ok := doc.Find(current.Uplink, netstate.TypeVLAN); ok && port.VLAN != nil {
		current.VLANID, current.Carrier = int32(port.VLAN.ID), port.VLAN.BaseIface
	}
	if carrier, ok := doc.Find(current.Carrier, ""); ok && current.Carrier != "" {
		current.CarrierType = carrier.Type
	}
}

// prefixLength is what the address has on br-ex; 0 where br-ex does not have the address.
func prefixLength(doc netstate.Document, address string) int32 {
	iface, ok := doc.Find(host.BridgeExternal, netstate.TypeOVSInterface)
	if !ok {
		return 0
	}
	for _, ip := range []*netstate.IP{iface.IPv4, iface.IPv6} {
		if ip == nil {
			continue
		}
		for _, a := range ip.Addresses {
			if SameAddr(a.IP, address) {
				return int32(a.PrefixLength)
			}
		}
	}
	return 0
}

// defaultGatewayOf is the next hop of the default route over br-ex that the kernel prefers: the
// one of least metric.
func defaultGatewayOf(doc netstate.Document, destination string) string {
	if doc.Routes == nil {
		return ""
	}
	best, metric := "", math.MaxInt
	for _, route := range doc.Routes.Running {
		if route.Destination != destination || route.NextHopInterface != host.BridgeExternal || route.Metric >= metric {
			continue
		}
		if hop, err := netip.ParseAddr(route.NextHopAddress); err == nil && !hop.IsUnspecified() {
			best, metric = hop.String(), route.Metric
		}
	}
	return best
}

// dynamicFamilies names what feeds br-ex's own interface besides static addresses.
func dynamicFamilies(doc netstate.Document) []string {
	iface, ok := doc.Find(host.BridgeExternal, netstate.TypeOVSInterface)
	if !ok {
		return nil
	}
	on := func(b *bool) bool { return b != nil && *b }
	var found []string
	if iface.IPv4 != nil && on(iface.IPv4.DHCP) {
		found = append(found, "IPv4 DHCP")
	}
	if iface.IPv6 != nil && on(iface.IPv6.DHCP) {
		found = append(found, "IPv6 DHCP")
	}
	if iface.IPv6 != nil && on(iface.IPv6.Autoconf) {
		found = append(found, "IPv6 autoconfiguration")
	}
	return found
}

// uplinkPort is the one port of br-ex that leads out: neither its own interface nor
// a patch port of OVN. Empty where there is none or more than one.
func uplinkPort(doc netstate.Document) string {
	bridge, ok := doc.Find(host.BridgeExternal, netstate.TypeOVSBridge)
	if !ok || bridge.Bridge == nil {
		return ""
	}
	found := ""
	for _, port := range bridge.Bridge.Ports {
		if port.Name == host.BridgeExternal || strings.HasPrefix(port.Name, "patch") {
			continue
		}
		if found != "" {
			return ""
		}
		found = port.Name
	}
	return found
}

// DesiredFamily is one family as it would be after the change: what spec leaves out is taken from the node. PrefixLength is
// that of the address on the network card; 0 where it is not known.
type DesiredFamily struct {
	Name, Address, Network, Gateway string
	PrefixLength                    int
}

// OnLink is the network that the node would reach without a gateway; zero where it is not known.
func (d DesiredFamily) OnLink() netip.Prefix {
	addr, err := netip.ParseAddr(d.Address)
	if err != nil || d.PrefixLength == 0 {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(addr, d.PrefixLength).Masked()
}

// DesiredFamilies are the families that the spec names.
func DesiredFamilies(spec lcav1.IPConfigSpec, now Current) (out []DesiredFamily) {
	if spec.IPv4 != nil {
		out = append(out, newDesiredFamily("ipv4", spec.IPv4.Address, spec.IPv4.MachineNetwork, spec.IPv4.Gateway, now.IPv4))
	}
	if spec.IPv6 != nil {
		out = append(out, newDesiredFamily("ipv6", spec.IPv6.Address, spec.IPv6.MachineNetwork, spec.IPv6.Gateway, now.IPv6))
	}
	return out
}

func newDesiredFamily(name, address, network, gateway string, now *lcav1.IPStatus) DesiredFamily {
	d := DesiredFamily{Name: name, Address: address, Network: network, Gateway: gateway}
	d.PrefixLength = desiredPrefixLength(network, now)
	if now != nil {
		if d.Network == "" {
			d.Network = now.MachineNetwork
		}
		if d.Gateway == "" {
			d.Gateway = now.Gateway
		}
	}
	return d
}

// desiredPrefixLength is the card's own, unless the spec names another machine network than the cluster has: that of the
// cluster says nothing about the link.
func desiredPrefixLength(network string, now *lcav1.IPStatus) int {
	if now != nil && now.PrefixLength > 0 && (network == "" || SamePrefix(network, now.MachineNetwork)) {
		return int(now.PrefixLength)
	}
	if p, err := netip.ParsePrefix(network); err == nil {
		return p.Bits()
	}
	return 0
}
