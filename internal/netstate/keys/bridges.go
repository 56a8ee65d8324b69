package keys

import "slices"

// bridges are the keys of bridges of both sorts, and of their ports.
func bridges() []Row {
	own := []Row{
		{Path: "interfaces[].bridge", Kinds: []string{linuxBridge, ovsBridge}},
		{
			Path: "interfaces[].bridge.allow-extra-patch-ports", Support: Partly, Kinds: []string{ovsBridge},
			Note: "true or false, patch ports are never removed",
		},
	}
	return slices.Concat(own, linuxOptions(), ovsOptions(), bridgePorts())
}

const option = "interfaces[].bridge.options."

// linuxOptions are those of a Linux bridge. NetworkManager's defaults of spanning tree always reach the kernel; those of multicast
// are the kernel's, which differ from kernel to kernel.
func linuxOptions() []Row {
	left := func(key, property string, form Form, unset any) Row {
		return Row{Path: option + key, Witness: Applied, Kinds: []string{linuxBridge}, Property: Property{
			Setting: "bridge", Name: property, Form: form, Unset: unset, Left: true,
		}}
	}
	within := func(r Row, low, high int) Row { r.Low, r.High = low, high; return r }
	tree := func(key, property string, form Form, unset any) Row {
		return Row{Path: option + "stp." + key, Witness: Kernel, Kinds: []string{linuxBridge}, Property: Property{
			Setting: "bridge", Name: property, Form: form, Unset: unset,
		}}
	}
	ageing := left("mac-ageing-time", "ageing-time", Number, uint32(300))
	ageing.Witness = Kernel
	protocol := left("vlan-protocol", "vlan-protocol", Text, "802.1Q")
	protocol.Words, protocol.Property.Left, protocol.Property.Values = []string{"802.1q", "802.1ad"}, false, vlanProtocols
	router := left("multicast-router", "multicast-router", Text, "auto")
	router.Property.Left = false
	router.Words = []string{"auto", "disabled", "enabled", "0", "1", "2"}
	router.Property.Values = map[string]any{"0": "disabled", "1": "auto", "2": "enabled"}
	return []Row{
		tree("enabled", "stp", Flag, true),
		within(tree("forward-delay", "forward-delay", Number, uint32(15)), 2, 30),
		within(tree("hello-time", "hello-time", Number, uint32(2)), 1, 10),
		within(tree("max-age", "max-age", Number, uint32(20)), 6, 40),
		within(tree("priority", "priority", Number, uint32(0x8000)), 0, 65535),
		left("group-addr", "group-address", Hardware, nil),
		within(left("group-forward-mask", "group-forward-mask", Number, uint32(0)), 0, 65535),
		left("hash-max", "multicast-hash-max", Number, uint32(4096)),
		ageing,
		left("multicast-last-member-count", "multicast-last-member-count", Number, uint32(2)),
		left("multicast-last-member-interval", "multicast-last-member-interval", Wide, uint64(100)),
		left("multicast-membership-interval", "multicast-membership-interval", Wide, uint64(26000)),
		left("multicast-querier", "multicast-querier", Flag, false),
		left("multicast-querier-interval", "multicast-querier-interval", Wide, uint64(25500)),
		left("multicast-query-interval", "multicast-query-interval", Wide, uint64(12500)),
		left("multicast-query-response-interval", "multicast-query-response-interval", Wide, uint64(1000)),
		left("multicast-query-use-ifaddr", "multicast-query-use-ifaddr", Flag, false),
		left("multicast-snooping", "multicast-snooping", Flag, true),
		router,
		left("multicast-startup-query-count", "multicast-startup-query-count", Number, uint32(2)),
		left("multicast-startup-query-interval", "multicast-startup-query-interval", Wide, uint64(3125)),
		protocol,
		within(left("vlan-default-pvid", "vlan-default-pvid", Number, uint32(1)), 0, maxVLAN),
		{Path: option + "hello-timer", Support: Read}, {Path: option + "gc-timer", Support: Read},
	}
}

// maxVLAN is the last VLAN that can be used.
const maxVLAN = 4094

// ovsOptions are those of a bridge of Open vSwitch.
func ovsOptions() []Row {
	of := func(key, property string, form Form, unset any, words ...string) Row {
		return Row{Path: option + key, Witness: Switch, Kinds: []string{ovsBridge}, Words: words, Property: Property{
			Setting: ovsBridge, Name: property, Form: form, Unset: unset,
		}}
	}
	return []Row{
		of("stp.enabled", "stp-enable", Flag, false),
		of("rstp", "rstp-enable", Flag, false), of("mcast-snooping-enable", "mcast-snooping-enable", Flag, false),
		of("fail-mode", "fail-mode", Text, "", "secure", "standalone"), of("datapath", "datapath-type", Text, ""),
	}
}

const port = "interfaces[].bridge.port[]."

const ofKernelBond = "belongs to a bond of the kernel, not to one inside a bridge"

// bridgePorts are the keys of ports.
func bridgePorts() []Row {
	onLinux := func(key, property string, form Form, unset any, low, high int) Row {
		return Row{Path: port + key, Witness: Kernel, Kinds: []string{linuxBridge}, Low: low, High: high, Property: Property{
			Setting: "bridge-port", Name: property, Form: form, Unset: unset,
		}}
	}
	inBond := func(key, property string) Row {
		return Row{Path: port + "link-aggregation." + key, Witness: Switch, Kinds: []string{ovsBridge}, Property: Property{
			Setting: "ovs-port", Name: property, Form: Number, Unset: uint32(0),
		}}
	}
	filter := Property{Setting: "bridge-port.vlans, ovs-port.tag, ovs-port.trunks"}
	return []Row{
		{Path: port + "name", Witness: Kernel, Property: Property{Setting: "connection.controller of the port"}},
		onLinux("stp-hairpin-mode", "hairpin-mode", Flag, false, 0, 0),
		onLinux("stp-path-cost", "path-cost", Number, uint32(100), 1, 65535),
		onLinux("stp-priority", "priority", Number, uint32(32), 0, 63),
		{Path: port + "vlan.mode", Witness: Kernel, Words: []string{"access", "trunk"}, Property: filter},
		{Path: port + "vlan.tag", Witness: Kernel, High: maxVLAN, Property: filter},
		{Path: port + "vlan.enable-native", Witness: Kernel, Property: filter},
		{Path: port + "vlan.trunk-tags[].id", Witness: Kernel, Property: filter},
		{Path: port + "vlan.trunk-tags[].id-range.min", Witness: Kernel, Property: filter},
		{Path: port + "vlan.trunk-tags[].id-range.max", Witness: Kernel, Property: filter},
		{Path: port + "link-aggregation", Kinds: []string{ovsBridge}, Note: "a bond inside the bridge, of two ports or more"},
		{
			Path: port + "link-aggregation.mode", Witness: Switch, Words: []string{"active-backup", "balance-slb", "balance-tcp", "lacp"},
			Property: Property{Setting: "ovs-port.bond-mode, ovs-port.lacp"},
		},
		{Path: port + "link-aggregation.port[].name", Witness: Switch},
		{Path: port + "link-aggregation.port[].priority", Support: No, Note: ofKernelBond},
		{Path: port + "link-aggregation.port[].queue-id", Support: No, Note: ofKernelBond},
		inBond("bond-updelay", "bond-updelay"), inBond("bond-downdelay", "bond-downdelay"),
		{Path: port + "link-aggregation.ovs-db", Kinds: []string{ovsBridge}, Note: "null removes a key, {} all of them"},
		{Path: port + "link-aggregation.ovs-db.external_ids", Witness: Switch, Property: Property{Setting: "ovs-external-ids.data"}},
		{Path: port + "link-aggregation.ovs-db.other_config", Witness: Switch, Property: Property{Setting: "ovs-other-config.data"}},
	}
}
