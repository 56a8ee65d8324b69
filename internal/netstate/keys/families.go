package keys

// families are the keys of the two families of an interface.
func families() []Row {
	return append(family("ipv4", []Row{
		{Path: "autoconf", Support: No, Note: "belongs to ipv6"},
		{Path: "addr-gen-mode", Support: No, Note: "belongs to ipv6"},
		{Path: "token", Support: No, Note: "belongs to ipv6"},
		{Path: "dhcp-duid", Support: No, Note: "belongs to ipv6, and ipv4 has dhcp-client-id"},
		{Path: "dhcp-client-id", Witness: Applied, Note: "ll, iaid+duid, or bytes in hexadecimal", Property: Property{
			Name: "dhcp-client-id", Form: Text, Unset: "", Automatic: true, Hidden: "",
			Values: map[string]any{"ll": "mac", "iaid+duid": "duid"},
		}},
	}), family("ipv6", []Row{
		{Path: "autoconf", Witness: Stored, Note: "true needs dhcp: true, as in nmstate", Property: Property{Setting: "ipv6.method"}},
		{
			Path: "addr-gen-mode", Witness: Applied, Words: []string{"eui64", "stable-privacy", "default", AddrGenModeUnset},
			Property: Property{
				Name: "addr-gen-mode", Form: Signed, Unset: int32(3), Hidden: int32(2),
				Values: map[string]any{
					"eui64": int32(0), "stable-privacy": int32(1), AddrGenModeUnset: int32(2), "default": int32(3),
				},
			},
		},
		{Path: "token", Witness: Applied, Property: Property{Name: "token", Form: Text, Unset: "", Automatic: true}},
		{Path: "dhcp-client-id", Support: No, Note: "belongs to ipv4, and ipv6 has dhcp-duid"},
		{Path: "dhcp-duid", Witness: Applied, Note: "ll, llt, en, uuid, or bytes in hexadecimal", Property: Property{
			Name: "dhcp-duid", Form: Text, Unset: "", Automatic: true, Hidden: "",
			Values: map[string]any{"en": "lease", "uuid": "stable-uuid"},
		}},
	})...)
}

// family are the keys that both have, and those of its own.
func family(name string, own []Row) []Row {
	automatic := func(key, property string, form Form, unset any) Row {
		return Row{Path: key, Witness: Applied, Property: Property{Name: property, Form: form, Unset: unset, Automatic: true}}
	}
	metric := automatic("auto-route-metric", "route-metric", Long, int64(MetricUnset))
	metric.Low, metric.High, metric.Property.Hidden = MetricUnset, maxNumber, int64(MetricUnset)
	table := automatic("auto-route-table-id", "route-table", Number, uint32(0))
	table.High = maxNumber
	both := []Row{
		{Path: "enabled", Witness: Kernel, Property: Property{Setting: name + ".method"}},
		{Path: "dhcp", Witness: Stored, Property: Property{Setting: name + ".method"}},
		{Path: "address", Note: addressNotes[name]},
		{Path: "address[].ip", Witness: Kernel, Property: Property{Setting: name + ".addresses"}},
		{Path: "address[].prefix-length", Witness: Kernel, Property: Property{Setting: name + ".addresses"}},
		{Path: "allow-extra-address", Witness: Order},
		automatic("auto-dns", "ignore-auto-dns", Opposite, false),
		automatic("auto-gateway", "never-default", Opposite, false),
		automatic("auto-routes", "ignore-auto-routes", Opposite, false),
		table, metric,
		automatic("dhcp-send-hostname", "dhcp-send-hostname", Flag, true),
		automatic("dhcp-custom-hostname", "dhcp-hostname", Text, ""),
	}
	rows := append(both, own...)
	for k := range rows {
		rows[k].Path = "interfaces[]." + name + "." + rows[k].Path
		if rows[k].IsSimple() {
			rows[k].Property.Setting = name
		}
	}
	return rows
}

var addressNotes = map[string]string{"ipv6": "link-local ones are left to the kernel"}

// What takes a key away that is not shown where it is unset. A key file without a mode means default-or-eui64.
const (
	AddrGenModeUnset = "default-or-eui64"
	MetricUnset      = -1
)

// maxNumber is the largest number of 32 bits.
const maxNumber = 1<<32 - 1
