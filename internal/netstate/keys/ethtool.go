package keys

import (
	"cmp"
	"slices"
)

// ethtool are the keys of drivers. What NetworkManager is not asked for stays what the driver has.
func ethtool() []Row {
	const at = "interfaces[].ethtool."
	kinds := []string{ethernet, veth} // what stands on cards has no driver of its own, and there may be thousands
	of := func(key, property string, form Form) Row {
		return Row{Path: at + key, Kinds: kinds, Witness: Kernel, Property: Property{
			Setting: "ethtool", Name: property, Form: form, Left: true,
		}}
	}
	rows := []Row{
		{Path: "interfaces[].ethtool", Kinds: kinds},
		{
			Path: at + "feature", Kinds: kinds, Witness: Kernel, Note: "the kernel's names, and ethtool's",
			Property: Property{Setting: "ethtool.feature-*"},
		},
		of("pause.autoneg", "pause-autoneg", Flag), of("pause.rx", "pause-rx", Flag), of("pause.tx", "pause-tx", Flag),
	}
	for _, key := range []string{"rx", "rx-mini", "rx-jumbo", "tx"} {
		rows = append(rows, of("ring."+key, "ring-"+key, Number))
	}
	for _, key := range []string{"adaptive-rx", "adaptive-tx"} {
		r := of("coalesce."+key, "coalesce-"+key, Number)
		r.Property.Values = map[string]any{"true": uint32(1), "false": uint32(0)}
		rows = append(rows, r)
	}
	for _, key := range []string{
		"pkt-rate-high", "pkt-rate-low", "rx-frames", "rx-frames-high", "rx-frames-irq", "rx-frames-low", "rx-usecs", "rx-usecs-high",
		"rx-usecs-irq", "rx-usecs-low", "sample-interval", "stats-block-usecs", "tx-frames", "tx-frames-high", "tx-frames-irq",
		"tx-frames-low", "tx-usecs", "tx-usecs-high", "tx-usecs-irq", "tx-usecs-low",
	} {
		rows = append(rows, of("coalesce."+key, "coalesce-"+key, Number))
	}
	return rows
}

// shortFeatures are the names of ethtool(8), and of NetworkManager, for features that the kernel calls otherwise.
var shortFeatures = map[string]string{
	"gro": "rx-gro", "gso": "tx-generic-segmentation", "lro": "rx-lro", "ntuple": "rx-ntuple-filter", "rx": "rx-checksum",
	"rxhash": "rx-hashing", "rxvlan": "rx-vlan-hw-parse", "txvlan": "tx-vlan-hw-insert",
}

// shownFeatures are the names under which ethtool(8) shows single features.
var shownFeatures = map[string]string{
	"rx-checksumming": "rx-checksum", "generic-segmentation-offload": "tx-generic-segmentation", "generic-receive-offload": "rx-gro",
	"large-receive-offload": "rx-lro", "rx-vlan-offload": "rx-vlan-hw-parse", "tx-vlan-offload": "tx-vlan-hw-insert",
	"ntuple-filters": "rx-ntuple-filter", "receive-hashing": "rx-hashing",
}

// sharedFeatures are features that NetworkManager knows by the kernel's name. Source: nm-settings-dbus(5), setting ethtool.
var sharedFeatures = []string{
	"esp-hw-offload", "esp-tx-csum-hw-offload", "fcoe-mtu", "highdma", "hw-tc-offload", "l2-fwd-offload", "loopback",
	"macsec-hw-offload", "rx-all", "rx-fcs", "rx-gro-hw", "rx-gro-list", "rx-udp-gro-forwarding", "rx-udp_tunnel-port-offload",
	"rx-vlan-filter", "rx-vlan-stag-filter", "rx-vlan-stag-hw-parse", "tls-hw-record", "tls-hw-rx-offload", "tls-hw-tx-offload",
	"tx-checksum-fcoe-crc", "tx-checksum-ipv4", "tx-checksum-ipv6", "tx-checksum-ip-generic", "tx-checksum-sctp", "tx-esp-segmentation",
	"tx-fcoe-segmentation", "tx-gre-csum-segmentation", "tx-gre-segmentation", "tx-gso-list", "tx-gso-partial", "tx-gso-robust",
	"tx-ipxip4-segmentation", "tx-ipxip6-segmentation", "tx-nocache-copy", "tx-scatter-gather", "tx-scatter-gather-fraglist",
	"tx-sctp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation", "tx-tcp-segmentation",
	"tx-tunnel-remcsum-segmentation", "tx-udp-segmentation", "tx-udp_tnl-csum-segmentation", "tx-udp_tnl-segmentation",
	"tx-vlan-stag-hw-insert",
}

// Feature is the kernel's name of a feature, which may be given by a name of ethtool(8).
func Feature(name string) string { return cmp.Or(shortFeatures[name], shownFeatures[name], name) }

// FeatureProperty is the name of a feature's property in NetworkManager's setting ethtool; false for one that it does not know.
func FeatureProperty(feature string) (string, bool) {
	for short, long := range shortFeatures {
		if long == feature {
			return "feature-" + short, true
		}
	}
	return "feature-" + feature, slices.Contains(sharedFeatures, feature)
}
