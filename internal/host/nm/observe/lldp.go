package observe

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Types of the parts of an announcement (IEEE 802.1AB), and organizations that define more of them.
const (
	tlvChassis, tlvPort, tlvName, tlvDescription, tlvCapabilities, tlvManagement, tlvOrganization = 1, 2, 5, 6, 7, 8, 127

	ouiBridging, ouiEthernet = "00:80:c2", "00:12:0f"
)

// Names of the standard, in the order of their numbers.
var (
	chassisTypes = []string{"Reserved", "Chassis component", "Interface alias", "Port component", "MAC address", "Network address",
		"Interface name", "Locally assigned"}
	portTypes = []string{"Reserved", "Interface alias", "Port component", "MAC address", "Network address", "Interface name",
		"Agent circuit ID", "Locally assigned"}
	capabilities = []string{"Other", "Repeater", "MAC Bridge component", "802.11 Access Point (AP)", "Router", "Telephone",
		"DOCSIS cable device", "Station Only", "C-VLAN component", "S-VLAN component", "Two-port MAC Relay component"}
)

// dict is a dictionary of D-Bus.
type dict = map[string]dbus.Variant

// Neighbors are the announcements that NetworkManager has received on an interface, as nmstate lists them: each is a list of its
// parts. It is nil for none.
func Neighbors(received []dict) *netstate.Opaque {
	slices.SortFunc(received, func(a, b dict) int { return slices.Compare(identityOf(a), identityOf(b)) })
	var all []any
	for _, n := range received {
		if parts := partsOf(n); len(parts) > 0 {
			all = append(all, parts)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &netstate.Opaque{Value: all}
}

// identityOf is what tells two neighbors apart: their order on the bus is not fixed.
func identityOf(n dict) []string {
	return []string{profile.Get[string](n, "chassis-id"), profile.Get[string](n, "port-id")}
}

func partsOf(n dict) (parts []any) {
	part := func(kind int, key string, value any) { parts = append(parts, map[string]any{"type": kind, key: value}) }
	for _, t := range []struct {
		kind int
		key  string
	}{{tlvName, "system-name"}, {tlvDescription, "system-description"}} {
		if text, says := n[t.key].Value().(string); says {
			part(t.kind, t.key, text)
		}
	}
	if bits, says := n["system-capabilities"].Value().(uint32); says {
		part(tlvCapabilities, "system-capabilities", capabilitiesOf(bits))
	}
	parts = append(parts, identifierParts(n, tlvChassis, "chassis-id", chassisTypes)...)
	parts = append(parts, identifierParts(n, tlvPort, "port-id", portTypes)...)
	parts = append(parts, organizationParts(n)...)
	if addresses, says := n["management-addresses"].Value().([]dict); says {
		part(tlvManagement, "management-addresses", managementAddresses(addresses))
	}
	if size, says := n["ieee-802-3-max-frame-size"].Value().(uint32); says {
		parts = append(parts, organizationPart(ouiEthernet, 4, "ieee-802-3-max-frame-size", size))
	}
	return parts
}

func capabilitiesOf(bits uint32) []string {
	out := []string{}
	for n, name := range capabilities {
		if bits&(1<<n) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// identifierParts is the part that names the neighbor or its port.
func identifierParts(n dict, kind int, key string, types []string) []any {
	id, says := n[key].Value().(string)
	number := profile.Get[uint32](n, key+"-type")
	if !says || int(number) >= len(types) {
		return nil
	}
	return []any{map[string]any{"type": kind, key: id, key + "-type": number, "_description": types[number]}}
}

func organizationPart(oui string, subtype int, key string, value any) any {
	return map[string]any{"type": tlvOrganization, "oui": oui, "subtype": subtype, key: value}
}

func organizationParts(n dict) (parts []any) {
	if vlans, says := n["ieee-802-1-vlans"].Value().([]dict); says {
		list := []any{}
		for _, v := range vlans {
			list = append(list, map[string]any{"vid": profile.Get[uint32](v, "vid"), "name": profile.Get[string](v, "name")})
		}
		parts = append(parts, organizationPart(ouiBridging, 3, "ieee-802-1-vlans", list))
	}
	if conf, says := n["ieee-802-3-mac-phy-conf"].Value().(dict); says {
		parts = append(parts, organizationPart(ouiEthernet, 1, "ieee-802-3-mac-phy-conf", map[string]any{
			"autoneg": profile.Get[uint32](conf, "autoneg") > 0, "operational-mau-type": profile.Get[uint32](conf, "operational-mau-type"),
			"pmd-autoneg-cap": profile.Get[uint32](conf, "pmd-autoneg-cap"),
		}))
	}
	if ppvids, says := n["ieee-802-1-ppvids"].Value().([]dict); says {
		list := []any{}
		for _, p := range ppvids {
			list = append(list, profile.Get[uint32](p, "ppvid"))
		}
		parts = append(parts, organizationPart(ouiBridging, 2, "ieee-802-1-ppvids", list))
	}
	return parts
}

func managementAddresses(all []dict) []any {
	out := []any{}
	for _, a := range all {
		family, text := managementAddress(profile.Get[uint32](a, "address-subtype"), profile.Get[[]byte](a, "address"))
		if text == "" {
			continue
		}
		out = append(out, map[string]any{
			"address": text, "address-subtype": family, "interface-number": profile.Get[uint32](a, "interface-number"),
			"interface-number-subtype": profile.Get[uint32](a, "interface-number-subtype"),
		})
	}
	return out
}

// managementAddress reads an address by the number of its family, as IANA assigns them.
func managementAddress(family uint32, data []byte) (name, text string) {
	switch family {
	case 1, 2:
		if a, ok := netip.AddrFromSlice(data); ok {
			return netstate.FamilyOf(a).String(), a.String()
		}
	case 6:
		return "MAC", strings.ToUpper(net.HardwareAddr(data).String())
	}
	return "", ""
}
