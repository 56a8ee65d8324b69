package keys

// node are the keys of the node as a whole: none is a property of its own.
func node() []Row {
	return []Row{
		{Path: "description", Support: Read, Note: "kept in the document, stored nowhere"},
		{Path: "hostname.running", Witness: Stored, Note: "of a document with hostname.config alone, the running name follows"},
		{Path: "hostname.config", Witness: Stored, Note: "an empty one removes it; not in an ephemeral change"},
		{Path: "dns-resolver.running", Support: Read},
		{Path: "dns-resolver.config.server", Witness: Stored, Property: Property{Setting: "ipv4.dns, ipv6.dns"}},
		{Path: "dns-resolver.config.search", Witness: Stored, Property: Property{Setting: "ipv4.dns-search, ipv6.dns-search"}},
		{Path: "dns-resolver.config.options", Witness: Stored, Property: Property{Setting: "ipv4.dns-options, ipv6.dns-options"}},

		{Path: "route-rules.running", Support: Read},
		{Path: "route-rules.config[].state", Witness: Order, Note: "absent; an empty ip-from or ip-to matches rules without one"},
		{Path: "route-rules.config[].family", Witness: Kernel, Words: []string{"ipv4", "ipv6"}},
		rule("ip-from"), rule("ip-to"), rule("priority"), rule("route-table"), rule("fwmark"), rule("fwmask"), rule("iif"),
		rule("action"), rule("suppress-prefix-length"),

		{Path: "routes.running", Support: Read},
		{Path: "routes.config[].state", Witness: Order, Note: "absent; keys that are left out match anything"},
		route("destination", ""), route("next-hop-interface", ""), route("next-hop-address", ""),
		route("metric", "-1 and 0 leave it to NetworkManager; orders to remove do not look at it"),
		route("table-id", "all but 255, the kernel's own"),
		route("weight", "1-256, IPv4; the routes that share a destination need one and the same metric"),
		route("route-type", "blackhole, unreachable, prohibit; kept in the profile of an interface that has the family"),
		route("cwnd", ""), route("source", ""),
		{Path: "routes.config[].vrf-name", Support: No, Note: "give the table of the VRF as table-id"},

		{Path: "ovs-db", Note: "of the node; null removes a key, {} all of them; not in an ephemeral change"},
		{Path: "ovs-db.external_ids", Witness: Switch}, {Path: "ovs-db.other_config", Witness: Switch},
		{Path: "ovn", Note: "not in an ephemeral change"},
		{Path: "ovn.bridge-mappings[].localnet", Witness: Switch}, {Path: "ovn.bridge-mappings[].bridge", Witness: Switch},
		{Path: "ovn.bridge-mappings[].state", Witness: Order},
	}
}

func rule(key string) Row {
	return Row{Path: "route-rules.config[]." + key, Witness: Kernel, Property: Property{Setting: "ipv4.routing-rules, ipv6.routing-rules"}}
}

func route(key, note string) Row {
	return Row{Path: "routes.config[]." + key, Witness: Kernel, Note: note, Property: Property{Setting: "ipv4.routes, ipv6.routes"}}
}
