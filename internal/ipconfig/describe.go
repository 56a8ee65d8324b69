package ipconfig

import (
	"math"
	"net/netip"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Describe adds what the observed document says of br-ex. The families are known beforehand: whoever has no
// address of one has no gateway of it.
func (current *Current) Describe(doc netstate.Document) {
	if doc.DNS != nil && doc.DNS.Running != nil {
		current.DNSServers = doc.DNS.Running.Server
	}
	if current.IPv4 != nil {
		current.IPv4.Gateway = gateway(doc, "0.0.0.0/0")
	}
	if current.IPv6 != nil {
		current.IPv6.Gateway = gateway(doc, "::/0")
	}
	current.Dynamic = dynamicFamilies(doc)
	current.Uplink = uplinkPort(doc)
	if port, ok := doc.Find(current.Uplink, netstate.TypeVLAN); ok && port.VLAN != nil {
		current.VLANID = int32(port.VLAN.ID)
	}
}

// gateway is the next hop of the default route over br-ex that the kernel prefers: the
// one of least metric.
func gateway(doc netstate.Document, destination string) string {
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
