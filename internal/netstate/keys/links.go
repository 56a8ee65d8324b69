package keys

import "slices"

// Types of links that rows name; package netstate has the list of all.
const (
	ethernet     = "ethernet"
	veth         = "veth"
	vlan         = "vlan"
	bond         = "bond"
	linuxBridge  = "linux-bridge"
	ovsBridge    = "ovs-bridge"
	ovsInterface = "ovs-interface"
	macVLAN      = "mac-vlan"
	macVTAP      = "mac-vtap"
	vrf          = "vrf"
	vxlan        = "vxlan"
	macSec       = "macsec"
	ipVLAN       = "ipvlan"
)

// Settings of NetworkManager that are not called like the type.
const (
	card           = "802-3-ethernet"
	macVLANProfile = "macvlan"
	dot1X          = "802-1x"
)

// MPTCPUnset is the flag that leaves Multipath TCP to NetworkManager.
const MPTCPUnset = "default"

// mptcpWithoutRoute has NetworkManager use addresses of interfaces that have no default route, too.
const mptcpWithoutRoute = 8

// links are the keys of an interface, without its families and its part of bridges.
func links() []Row {
	return slices.Concat(anyLink(), cards(), ethtool(), vlans(), bonds(), macVLANs(macVLAN), macVLANs(macVTAP), vxlans(), macSecs(),
		ipVLANs(), authentications(), otherLinks(), refused())
}

// anyLink are the keys that all links have.
func anyLink() []Row {
	return []Row{
		{Path: "interfaces[].name", Witness: Order, Property: Property{Setting: "connection.interface-name"}},
		{Path: "interfaces[].profile-name", Witness: Stored, Property: Property{Setting: "connection.id"}},
		{Path: "interfaces[].description", Witness: Stored, Property: Property{Setting: "user.data"}},
		{Path: "interfaces[].type", Support: Partly, Note: "see the types above"},
		{Path: "interfaces[].state", Witness: Kernel, Words: []string{"up", "down", "absent", "ignore"}},
		{Path: "interfaces[].identifier", Witness: Order, Words: []string{"name", "mac-address"}},
		{
			Path: "interfaces[].mac-address", Witness: Kernel, Note: "of a vrf it has no effect",
			Property: Property{Setting: card + ".cloned-mac-address"},
		},
		{Path: "interfaces[].copy-mac-from", Witness: Order, Kinds: []string{bond, linuxBridge, ovsInterface}},
		{Path: "interfaces[].mtu", Witness: Kernel, Low: 68, High: 65536, Property: Property{
			Setting: card, Name: "mtu", Form: Number, Unset: uint32(0), Left: true,
		}},
		{
			Path: "interfaces[].wait-ip", Witness: Applied, Words: []string{"any", "ipv4", "ipv6", "ipv4+ipv6"},
			Property: Property{Setting: "ipv4.may-fail, ipv6.may-fail"},
		},
		{Path: "interfaces[].controller", Witness: Kernel, Property: Property{Setting: "connection.controller"}},
		{Path: "interfaces[].accept-all-mac-addresses", Witness: Applied, Property: Property{
			Setting: card, Name: "accept-all-mac-addresses", Form: Ternary, Unset: int32(-1), Left: true,
		}},
		{
			Path: "interfaces[].mptcp.address-flags", Witness: Applied,
			Note: "signal, subflow, backup, fullmesh; none switches Multipath TCP off, and default leaves it to NetworkManager",
			Property: Property{
				Setting: "connection", Name: "mptcp-flags", Form: Flags, Unset: uint32(0), Hidden: uint32(0), Mask: mptcpWithoutRoute,
				Values: map[string]any{
					"": uint32(1), MPTCPUnset: uint32(0),
					"signal": uint32(0x10), "subflow": uint32(0x20), "backup": uint32(0x40), "fullmesh": uint32(0x80),
				},
			},
		},
		{Path: "interfaces[].lldp.enabled", Witness: Applied, Property: Property{
			Setting: "connection", Name: "lldp", Form: Ternary, Unset: int32(-1), Left: true,
		}},
	}
}

// cards are the keys of cards and of pairs of virtual ones.
func cards() []Row {
	return []Row{
		{Path: "interfaces[].ethernet", Kinds: []string{ethernet, veth}, Note: "rolled back where the card does not follow"},
		{Path: "interfaces[].ethernet.auto-negotiation", Kinds: []string{ethernet, veth}, Witness: Applied, Property: Property{
			Setting: card, Name: "auto-negotiate", Form: Flag, Unset: false, Left: true, Group: "speed",
		}},
		{Path: "interfaces[].ethernet.speed", Kinds: []string{ethernet, veth}, Witness: Applied, Property: Property{
			Setting: card, Name: "speed", Form: Number, Unset: uint32(0), Left: true, Group: "speed",
		}},
		{
			Path: "interfaces[].ethernet.duplex", Kinds: []string{ethernet, veth}, Witness: Applied, Words: []string{"full", "half"},
			Property: Property{Setting: card, Name: "duplex", Form: Text, Unset: "", Left: true, Group: "speed"},
		},

		{
			Path: "interfaces[].ethernet.sr-iov", Support: No,
			Note: "is part of nmstate, and this product does not support it; use the SR-IOV operator",
		},

		{Path: "interfaces[].veth", Kinds: []string{veth, ethernet}},
		{Path: "interfaces[].veth.peer", Witness: Kernel, Property: Property{
			Setting: veth, Name: "peer", Form: Text, Unset: "", Fixed: Made,
		}},
	}
}

// authentications are the keys of IEEE 802.1X. Silence means nothing of them. NetworkManager takes no notice of another secret until the
// profile is activated.
func authentications() []Row {
	const at = "interfaces[].802.1x"
	kinds := []string{ethernet, veth}
	of := func(key, name string, form Form) Row {
		return Row{Path: at + "." + key, Kinds: kinds, Witness: Stored, Property: Property{
			Setting: dot1X, Name: name, Form: form, Fixed: Activated,
		}}
	}
	secret := func(key string) Row {
		r := of(key, key, Text)
		r.Property.Secret, r.Note = true, "shown as <_password_hid_by_nmstate>, which keeps the one that is there"
		return r
	}
	file := func(key string) Row {
		r := of(key, key, File)
		r.Note = "a file that is on the node"
		return r
	}
	return []Row{
		{Path: at, Kinds: kinds, Note: "given as a whole, and {} takes it away; needs wpa_supplicant"},
		of("identity", "identity", Text), of("eap-methods", "eap", Texts), file("private-key"), secret("private-key-password"),
		file("client-cert"), file("ca-cert"), of("phase2-auth", "phase2-auth", Text), secret("password"),
	}
}

func vlans() []Row {
	return []Row{
		{Path: "interfaces[].vlan", Kinds: []string{vlan}},
		{Path: "interfaces[].vlan.base-iface", Witness: Kernel, Property: Property{
			Setting: vlan, Name: "parent", Form: Text, Unset: "", Fixed: Made,
		}},
		{Path: "interfaces[].vlan.id", Witness: Kernel, Note: "1-4094", Property: Property{
			Setting: vlan, Name: "id", Form: Number, Unset: uint32(0), Fixed: Made,
		}},
		{Path: "interfaces[].vlan.protocol", Witness: Kernel, Property: Property{
			Setting: vlan, Name: "protocol", Form: Text, Unset: "802.1Q", Fixed: Made, Values: vlanProtocols,
		}},
		vlanFlag("reorder-headers", 1, map[string]any{"true": uint32(1), "false": uint32(0)}, nil),
		vlanFlag("loose-binding", 4, map[string]any{"true": uint32(4), "false": uint32(0)}, nil),
		vlanFlag("registration-protocol", 10, map[string]any{"none": uint32(0), "gvrp": uint32(2), "mvrp": uint32(8)},
			[]string{"none", "gvrp", "mvrp"}),
	}
}

func bonds() []Row {
	return []Row{
		{Path: "interfaces[].link-aggregation", Kinds: []string{bond}},
		{Path: "interfaces[].link-aggregation.mode", Witness: Kernel, Property: Property{Setting: "bond.options"}},
		{Path: "interfaces[].link-aggregation.port", Witness: Kernel, Property: Property{Setting: "connection.controller of the ports"}},
		{
			Path: "interfaces[].link-aggregation.options", Witness: Applied, Note: "the options of the kernel's bonding driver",
			Property: Property{Setting: "bond.options"},
		},
		{Path: "interfaces[].link-aggregation.ports-config[].name", Witness: Order},
		{
			Path: "interfaces[].link-aggregation.ports-config[].priority", Witness: Applied, Low: -1 << 31, High: 1<<31 - 1,
			Property: Property{Setting: "bond-port", Name: "prio", Form: Signed, Unset: int32(0)},
		},
		{Path: "interfaces[].link-aggregation.ports-config[].queue-id", Witness: Applied, Property: Property{
			Setting: "bond-port", Name: "queue-id", Form: Number, Unset: uint32(0),
		}},
	}
}

// macVLANs are the keys of both sorts, which have properties of one setting.
func macVLANs(kind string) []Row {
	at := "interfaces[]." + kind
	return []Row{
		{Path: at, Kinds: []string{kind}},
		{Path: at + ".base-iface", Witness: Kernel, Property: Property{
			Setting: macVLANProfile, Name: "parent", Form: Text, Unset: "", Fixed: Made,
		}},
		{Path: at + ".mode", Witness: Kernel, Words: []string{"vepa", "bridge", "private", "passthru"}, Property: Property{
			Setting: macVLANProfile, Name: "mode", Form: Number, Unset: uint32(0), Fixed: Made,
			Values: map[string]any{"vepa": uint32(1), "bridge": uint32(2), "private": uint32(3), "passthru": uint32(4)},
		}},
		{Path: at + ".promiscuous", Witness: Applied, Property: Property{
			Setting: macVLANProfile, Name: "promiscuous", Form: Flag, Unset: true,
		}},
	}
}

func vxlans() []Row {
	made := func(key, name string, form Form, unset any) Row {
		return Row{Path: "interfaces[].vxlan." + key, Witness: Kernel, Property: Property{
			Setting: vxlan, Name: name, Form: form, Unset: unset, Fixed: Made,
		}}
	}
	id, destination := made("id", "id", Number, uint32(0)), made("destination-port", "destination-port", Number, uint32(8472))
	id.Low, id.High, destination.Low, destination.High = 1, 1<<24-1, 1, 65535
	destination.Note = "8472 where it is left out; 4789 is the number that RFC 7348 gives"
	remote := made("remote", "remote", Text, "")
	remote.Note = "the address of the other end, or a multicast group"
	return []Row{
		{Path: "interfaces[].vxlan", Kinds: []string{vxlan}},
		made("base-iface", "parent", Text, ""), id, remote, made("local", "local", Text, ""), destination,
		made("learning", "learning", Flag, true),
	}
}

func macSecs() []Row {
	made := func(key string, w Witness, form Form, unset any) Row {
		return Row{Path: "interfaces[].macsec." + key, Witness: w, Property: Property{
			Setting: macSec, Name: key, Form: form, Unset: unset, Fixed: Made,
		}}
	}
	base := made("base-iface", Kernel, Text, "")
	base.Property.Name = "parent"
	cak := made("mka-cak", Stored, Text, "")
	cak.Property.Secret, cak.Note = true, "32 hexadecimal digits; shown as <_password_hid_by_nmstate>, which keeps the key that is there"
	ckn := made("mka-ckn", Stored, Text, "")
	ckn.Note = "2 to 64 hexadecimal digits"
	port := made("port", Stored, Signed, int32(1))
	port.High, port.Note = 65534, "0 leaves it to NetworkManager"
	validation := made("validation", Kernel, Signed, int32(2))
	validation.Words = []string{"disabled", "check", "strict"}
	validation.Property.Values = map[string]any{"disabled": int32(0), "check": int32(1), "strict": int32(2)}
	offload := made("offload", Kernel, Signed, int32(-1))
	offload.Words, offload.Note = []string{"off", "phy", "mac"}, "NetworkManager 1.46 or later"
	offload.Property.Values, offload.Property.Left = map[string]any{"off": int32(0), "phy": int32(1), "mac": int32(2)}, true
	return []Row{
		{Path: "interfaces[].macsec", Kinds: []string{macSec}},
		base, made("encrypt", Kernel, Flag, true), cak, ckn, port, validation, made("send-sci", Kernel, Flag, true), offload,
	}
}

func ipVLANs() []Row {
	made := func(key, name string, form Form, unset any) Row {
		return Row{Path: "interfaces[].ipvlan." + key, Witness: Kernel, Property: Property{
			Setting: ipVLAN, Name: name, Form: form, Unset: unset, Fixed: Made,
		}}
	}
	mode := made("mode", "mode", Number, uint32(0))
	mode.Words = []string{"l2", "l3", "l3s"}
	mode.Property.Values = map[string]any{"l2": uint32(1), "l3": uint32(2), "l3s": uint32(3)}
	return []Row{
		{Path: "interfaces[].ipvlan", Kinds: []string{ipVLAN}},
		made("base-iface", "parent", Text, ""), mode, made("private", "private", Flag, false), made("vepa", "vepa", Flag, false),
	}
}

// refused are keys of which the reader wants to know why.
func refused() []Row {
	of := func(key, note string) Row { return Row{Path: "interfaces[]." + key, Support: No, Note: note} }
	return []Row{of("libreswan", noIPsec), of("dispatch", noDispatch), of("hsr", noRing), of("infiniband", noInfiniband)}
}

// otherLinks are the keys of routing domains and of Open vSwitch's interfaces.
func otherLinks() []Row {
	return []Row{
		{Path: "interfaces[].vrf", Kinds: []string{vrf}},
		{Path: "interfaces[].vrf.port", Witness: Kernel, Property: Property{Setting: "connection.controller of the ports"}},
		{Path: "interfaces[].vrf.route-table-id", Witness: Kernel, High: maxNumber, Property: Property{
			Setting: vrf, Name: "table", Form: Number, Unset: uint32(0), Fixed: Made,
		}},

		{Path: "interfaces[].patch", Kinds: []string{ovsInterface}},
		{Path: "interfaces[].patch.peer", Witness: Switch, Property: Property{
			Setting: "ovs-patch", Name: "peer", Form: Text, Unset: "", Fixed: Activated,
		}},
		{
			Path: "interfaces[].ovs-db",
			Note: "of an ovs-bridge, an ovs-interface, and a port of an ovs-bridge; null removes a key, {} all of them",
		},
		{Path: "interfaces[].ovs-db.external_ids", Witness: Switch, Property: Property{Setting: "ovs-external-ids.data"}},
		{Path: "interfaces[].ovs-db.other_config", Witness: Switch, Property: Property{Setting: "ovs-other-config.data"}},
	}
}

// vlanProtocols are NetworkManager's spellings.
var vlanProtocols = map[string]any{"802.1q": "802.1Q", "802.1ad": "802.1ad"}

// vlanFlag is a key that some of the flags of a VLAN hold. Without them the kernel reorders headers and does nothing else.
func vlanFlag(key string, mask uint32, values map[string]any, words []string) Row {
	return Row{Path: "interfaces[].vlan." + key, Witness: Kernel, Words: words, Property: Property{
		Setting: vlan, Name: "flags", Form: Bits, Unset: uint32(1), Mask: mask, Values: values,
	}}
}
