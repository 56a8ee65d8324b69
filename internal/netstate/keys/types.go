package keys

import "slices"

// Type is one of nmstate's types of interfaces.
type Type struct {
	Name    string
	Support Support
	Note    string
	// Profile is the type of NetworkManager's profiles of such interfaces.
	Profile string
	// Module is the kernel's module that makes such links, and the name by which it knows them; empty for links that are not made.
	Module string
	// Since is the minor version of NetworkManager 1 that knows the type; 0 for all that are supported.
	Since int
	// Needs are the keys without which none is made.
	Needs []string
	// Initial are properties of every new profile of the type, where NetworkManager's default is not nmstate's.
	Initial []Initial
}

// Initial is the first value of a property.
type Initial struct {
	Setting, Name string
	Value         any
}

// Why keys and types of nmstate are refused, and what to do.
const (
	noIPsec = "libreswan keeps its tunnels itself, and nothing here could tell that one is up, or take one back; bring its " +
		"configuration to the node with a MachineConfig"
	noDispatch = "is a program that runs as root at each event of the link, and no rollback undoes what it did; bring it to " +
		"/etc/NetworkManager/dispatcher.d with a MachineConfig"
	noRing       = "no ring was there to prove it on; use a bond"
	noInfiniband = "no such card was there to prove it on"
)

// withPorts has NetworkManager activate the ports of a new controller.
var withPorts = Initial{"connection", "autoconnect-slaves", int32(1)}

// types are all; what is not supported is known by name, so that it is refused by name.
var types = []Type{
	{Name: ethernet, Support: Full, Profile: card},
	{Name: veth, Support: Full, Profile: veth},
	{
		Name: vlan, Support: Full, Profile: vlan, Module: "8021q", Needs: []string{"vlan.base-iface"},
		Initial: []Initial{{vlan, "flags", uint32(1)}}, // reordered headers, the kernel's default; older versions had none
	},
	{
		Name: bond, Support: Full, Profile: bond, Module: "bonding", Needs: []string{"link-aggregation.mode"},
		Initial: []Initial{withPorts},
	},
	{
		Name: linuxBridge, Support: Full, Note: "with VLAN filtering", Profile: "bridge", Module: "bridge",
		Initial: []Initial{withPorts, {"bridge", "stp", false}},
	},
	{
		Name: ovsBridge, Support: Full, Profile: ovsBridge,
		Note: "where NetworkManager has its Open vSwitch plug-in; bridges of other programs are read only",
	},
	{
		Name: ovsInterface, Support: Full, Note: "internal ones and patches; no DPDK", Profile: ovsInterface,
		Initial: []Initial{{ovsInterface, "type", "internal"}},
	},
	{Name: "dummy", Support: Full, Profile: "dummy", Module: "dummy"},
	{
		Name: macVLAN, Support: Full, Profile: macVLANProfile, Module: macVLANProfile,
		Needs: []string{"mac-vlan.base-iface", "mac-vlan.mode"},
	},
	{
		Name: macVTAP, Support: Full, Profile: macVLANProfile, Module: macVLANProfile,
		Needs: []string{"mac-vtap.base-iface", "mac-vtap.mode"}, Initial: []Initial{{macVLANProfile, "tap", true}},
	},
	{
		Name: vrf, Support: Full, Profile: vrf, Module: vrf, Needs: []string{"vrf.route-table-id"},
		Initial: []Initial{withPorts},
	},
	{Name: vxlan, Support: Full, Profile: vxlan, Module: vxlan, Needs: []string{"vxlan.id"}},
	{
		Name: macSec, Support: Full, Note: "with a shared key; needs wpa_supplicant", Profile: macSec, Module: macSec,
		Needs: []string{"macsec.base-iface", "macsec.mka-cak", "macsec.mka-ckn"},
	},
	{
		Name: "loopback", Support: Partly, Note: "addresses, routes and the MTU; it cannot be down", Profile: "loopback",
		Initial: []Initial{{"ipv4", "method", "auto"}, {"ipv6", "method", "auto"}},
	},
	{
		Name: ipVLAN, Support: Full, Note: "NetworkManager 1.51 or later", Profile: ipVLAN, Module: ipVLAN, Since: 51,
		Needs: []string{"ipvlan.base-iface"}, Initial: []Initial{{ipVLAN, "mode", uint32(2)}}, // nmstate's default, l3
	},
	{Name: "infiniband", Support: No, Note: noInfiniband}, {Name: "hsr", Support: No, Note: noRing},
	{Name: "ipsec", Support: No, Note: noIPsec}, {Name: "xfrm", Support: No}, {Name: "tun", Support: Read},
}

// Types are all types, in the order of the documentation.
func Types() []Type { return slices.Clone(types) }

// TypeOf finds a type by its name.
func TypeOf(name string) (Type, bool) {
	n := slices.IndexFunc(types, func(t Type) bool { return t.Name == name })
	if n < 0 {
		return Type{}, false
	}
	return types[n], true
}

// Configurable are the names of the types that a document may give.
func Configurable() []string {
	var out []string
	for _, t := range types {
		if t.Support == Full || t.Support == Partly {
			out = append(out, t.Name)
		}
	}
	return out
}

// Module is the kernel's module that makes the link of a type of profiles; empty where none is needed.
func Module(profile string) string {
	n := slices.IndexFunc(types, func(t Type) bool { return t.Profile == profile })
	if n < 0 {
		return ""
	}
	return types[n].Module
}

// Since is the minor version of NetworkManager 1 that knows a type of profiles; 0 for all that are supported.
func Since(profile string) int {
	n := slices.IndexFunc(types, func(t Type) bool { return t.Profile == profile })
	if n < 0 {
		return 0
	}
	return types[n].Since
}
