package netstate

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

func (v *validator) checkKinds(i Interface) {
	if i.Ethtool != nil {
		v.checkEthtool(i, *i.Ethtool)
	}
	if i.Dot1X != nil {
		v.checkDot1X(i, *i.Dot1X)
	}
	if i.VLAN != nil {
		v.checkVLAN(i, *i.VLAN)
	}
	if i.Bond != nil {
		v.checkBond(i, *i.Bond)
	}
	if i.Bridge != nil {
		v.checkBridge(i, *i.Bridge)
	}
	v.checkMACVLAN(i, TypeMACVLAN, i.MACVLAN)
	v.checkMACVLAN(i, TypeMACVTAP, i.MACVTAP)
	if i.VXLAN != nil {
		v.checkVXLAN(i, *i.VXLAN)
	}
	if l := i.IPVLAN; l != nil {
		v.checkBase(i, "ipvlan.base-iface", l.BaseIface)
		if v.at = i.keyPath("ipvlan"); isTrue(l.Private) && isTrue(l.VEPA) {
			v.addProblem("private and vepa exclude one another")
		}
	}
	if i.MACSec != nil {
		v.checkMACSec(i, *i.MACSec)
	}
	if i.Veth != nil && i.Veth.Peer == i.Name {
		v.at = i.keyPath("veth.peer")
		v.addProblem("a pair needs two names")
	}
	if e := i.Ethernet; e != nil && e.AutoNegotiation != nil && !*e.AutoNegotiation && (e.Speed == 0) != (e.Duplex == "") {
		v.at = i.keyPath("ethernet")
		v.addProblem("without auto-negotiation, speed and duplex are needed both")
	}
}

func (v *validator) checkMACVLAN(i Interface, section string, m *MACVLAN) {
	if m == nil {
		return
	}
	v.checkBase(i, section+".base-iface", m.BaseIface)
	if p := m.Promiscuous; p != nil && !*p && m.Mode != "passthru" {
		v.at = i.keyPath(section + ".promiscuous")
		v.addProblem("can be switched off in mode passthru only")
	}
}

func (v *validator) checkVXLAN(i Interface, x VXLAN) {
	v.checkBase(i, "vxlan.base-iface", x.BaseIface)
	ends := map[string]netip.Addr{}
	for key, text := range map[string]string{"vxlan.remote": x.Remote, "vxlan.local": x.Local} {
		a, err := netip.ParseAddr(text)
		if v.at = i.keyPath(key); text != "" && (err != nil || a.Zone() != "") {
			v.addProblem("%q is not an IP address", text)
		} else if text != "" {
			ends[key] = a
		}
	}
	remote, local := ends["vxlan.remote"], ends["vxlan.local"]
	v.at = i.keyPath("vxlan")
	if remote.IsMulticast() && x.BaseIface == "" {
		v.addProblem("a multicast group as remote needs base-iface")
	}
	if remote.IsValid() && local.IsValid() && remote.Is4() != local.Is4() {
		v.addProblem("remote and local are of two families")
	}
}

// checkMACSec says nothing of a key but how it is to look.
func (v *validator) checkMACSec(i Interface, m MACSec) {
	v.checkBase(i, "macsec.base-iface", m.BaseIface)
	if (m.CAK == "") != (m.CKN == "") {
		v.at = i.keyPath("macsec")
		v.addProblem("mka-cak and mka-ckn are given together, or neither is")
	}
	if _, err := hex.DecodeString(m.CAK); m.CAK != "" && m.CAK != tree.Hidden && (err != nil || len(m.CAK) != 32) {
		v.at = i.keyPath("macsec.mka-cak")
		v.addProblem("is a key of 32 hexadecimal digits")
	}
	if _, err := hex.DecodeString(m.CKN); m.CKN != "" && (err != nil || len(m.CKN) > 64) {
		v.at = i.keyPath("macsec.mka-ckn")
		v.addProblem("%q is not an even number of hexadecimal digits, 2 to 64", m.CKN)
	}
}

func (v *validator) checkMPTCP(i Interface) {
	if i.MPTCP == nil {
		return
	}
	flags := i.MPTCP.AddressFlags
	for _, f := range flags {
		v.checkOneOf(i, "mptcp.address-flags", f, "signal", "subflow", "backup", "fullmesh", keys.MPTCPUnset)
	}
	v.at = i.keyPath("mptcp.address-flags")
	if slices.Contains(flags, "signal") && slices.Contains(flags, "fullmesh") {
		v.addProblem("signal and fullmesh exclude one another")
	}
	if slices.Contains(flags, keys.MPTCPUnset) && len(flags) > 1 {
		v.addProblem("%s excludes other flags", keys.MPTCPUnset)
	}
}

// checkEthtool refuses features that NetworkManager cannot set, and one that is named twice.
func (v *validator) checkEthtool(i Interface, e Ethtool) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(e.Features)) {
		v.at = i.keyPath("ethtool.feature." + name)
		feature := keys.Feature(name)
		if _, known := keys.FeatureProperty(feature); !known {
			v.addProblem("is no feature that NetworkManager sets; name those of the kernel, as ethtool -k shows them")
		}
		if other, twice := seen[feature]; twice {
			v.addProblem("is the same feature as %s", other)
		}
		seen[feature] = name
	}
}

func (v *validator) checkVLAN(i Interface, l VLAN) {
	v.at = i.keyPath("vlan.id")
	if l.ID < 1 || l.ID > maxVLAN {
		v.addProblem("VLAN id %d is outside 1-%d", l.ID, maxVLAN)
	}
	v.checkOneOf(i, "vlan.protocol", strings.ToLower(l.Protocol), "", "802.1q", "802.1ad")
	v.checkBase(i, "vlan.base-iface", l.BaseIface)
}

func (v *validator) checkBase(i Interface, key, base string) {
	v.at = i.keyPath(key)
	if base == "" {
		return
	}
	if base == i.Name {
		v.addProblem("an interface cannot be its own base interface")
	} else if reason := badName(base); reason != "" {
		v.addProblem("base interface name %q %s", base, reason)
	}
}

// bondValues are the options of a bond whose values have names, in the order of the kernel's numbers.
// Source: Documentation/networking/bonding.rst of the kernel.
var bondValues = map[string][]string{
	"ad_select":        {"stable", "bandwidth", "count"},
	"arp_all_targets":  {"any", "all"},
	"arp_validate":     {"none", "active", "backup", "all", "filter", "filter_active", "filter_backup"},
	"fail_over_mac":    {"none", "active", "follow"},
	"lacp_rate":        {"slow", "fast"},
	"primary_reselect": {"always", "better", "failure"},
	"xmit_hash_policy": {"layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"},
}

// bondOptions are the other options, with the largest number each takes; -1 is a text.
var bondOptions = map[string]int{
	"active_slave": -1, "ad_actor_sys_prio": 65535, "ad_actor_system": -1, "ad_user_port_key": 1023, "all_slaves_active": 1,
	"all_ports_active": 1, "arp_interval": maxDelay, "arp_ip_target": -1, "arp_missed_max": 255, "balance_slb": 1, "downdelay": maxDelay,
	"lacp_active": 1, "lp_interval": maxDelay, "miimon": maxDelay, "min_links": maxDelay, "num_grat_arp": 255, "num_unsol_na": 255,
	"packets_per_slave": 65535, "packets_per_port": 65535, "peer_notif_delay": maxDelay, "primary": -1, "resend_igmp": 255,
	"balance-slb": 1, "tlb_dynamic_lb": 1, "updelay": maxDelay, "use_carrier": 1,
}

const maxDelay = 1<<31 - 1

// onlyModes are the options that the kernel takes in some modes alone.
var onlyModes = map[string][]string{
	"lacp_rate": {"802.3ad"}, "ad_select": {"802.3ad"}, "ad_actor_system": {"802.3ad"}, "ad_actor_sys_prio": {"802.3ad"},
	"ad_user_port_key": {"802.3ad"}, "lacp_active": {"802.3ad"}, "packets_per_slave": {"balance-rr"}, "packets_per_port": {"balance-rr"},
	"tlb_dynamic_lb": {"balance-tlb", "balance-alb"}, "balance_slb": {"balance-xor"},
	"primary":      {"active-backup", "balance-tlb", "balance-alb"},
	"active_slave": {"active-backup", "balance-tlb", "balance-alb"},
	"arp_interval": {"balance-rr", "active-backup", "balance-xor", "broadcast"},
	"arp_validate": {"balance-rr", "active-backup", "balance-xor", "broadcast"},
}

func (v *validator) checkBond(i Interface, b Bond) {
	b = *b.canonical()
	v.checkOneOf(i, "link-aggregation.mode", b.Mode, append([]string{""}, bondModes...)...)
	number := func(key string) int { n, _ := strconv.Atoi(b.Options[key]); return n }
	v.at = i.keyPath("link-aggregation.options")
	for _, key := range slices.Sorted(maps.Keys(b.Options)) {
		v.checkBondOption(i, b.Mode, key, b.Options[key])
	}
	v.at = i.keyPath("link-aggregation.options")
	if number("miimon") > 0 && number("arp_interval") > 0 {
		v.addProblem("miimon and arp_interval exclude each other; give one of the two")
	}
	if number("arp_interval") > 0 && b.Options["arp_ip_target"] == "" {
		v.addProblem("arp_interval needs arp_ip_target")
	}
	if (number("updelay") > 0 || number("downdelay") > 0) && number("arp_interval") > 0 {
		v.addProblem("updelay and downdelay need miimon, not arp_interval")
	}
	if b.Mode == "active-backup" && b.Options["fail_over_mac"] == "active" && i.MACAddress != "" {
		v.at = i.keyPath("mac-address")
		v.addProblem("a bond in mode active-backup with fail_over_mac active takes the MAC address of its active port")
	}
	v.checkBondMembers(i, b)
}

func (v *validator) checkBondMembers(i Interface, b Bond) {
	v.at = i.keyPath("link-aggregation.ports-config")
	queues := map[int]string{}
	for _, m := range b.PortsConfig {
		if b.Ports != nil && !slices.Contains(b.Ports, m.Name) {
			v.addProblem("%q is not a port of the bond", m.Name)
		}
		if m.QueueID == nil || *m.QueueID == 0 {
			continue
		}
		if other, taken := queues[*m.QueueID]; taken {
			v.addProblem("queue-id %d of %q is that of %q already", *m.QueueID, m.Name, other)
		}
		queues[*m.QueueID] = m.Name
	}
}

func (v *validator) checkBondOption(i Interface, mode, key, value string) {
	v.at = i.keyPath("link-aggregation.options." + key)
	names, named := bondValues[key]
	most, known := bondOptions[key]
	switch n, err := strconv.Atoi(value); {
	case !named && !known:
		v.addProblem("is not an option of a bond")
	case named && !slices.Contains(names, value):
		v.addProblem("%q is none of %s", value, strings.Join(names, ", "))
	case known && most >= 0 && (err != nil || n < 0 || n > most):
		v.addProblem("%q is not a number of 0-%d", value, most)
	}
	if modes := onlyModes[key]; mode != "" && modes != nil && !slices.Contains(modes, mode) && value != "" && value != "0" &&
		value != "none" {
		v.addProblem("has an effect in mode %s only, not in %s", strings.Join(modes, ", "), mode)
	}
}

func (v *validator) checkBridge(i Interface, b Bridge) {
	if o := b.Options; o != nil && isTrue(o.RSTP) && o.STP != nil && isTrue(o.STP.Enabled) {
		v.at = i.keyPath("bridge.options")
		v.addProblem("stp and rstp exclude each other; give one of the two")
	}
	for _, p := range b.Ports {
		key := "bridge.port[" + p.Name + "]"
		v.at = i.keyPath(key)
		if p.Name == "" {
			v.addProblem("a port has no name")
		}
		if p.VLAN != nil {
			v.checkPortVLAN(i, key+".vlan", *p.VLAN)
		}
		v.checkPortBond(i, key, p)
	}
}

func (v *validator) checkPortBond(i Interface, key string, p BridgePort) {
	if p.Bond == nil {
		return
	}
	v.at = i.keyPath(key + ".link-aggregation")
	if len(p.Bond.Ports) == 1 {
		v.addProblem("a bond inside a bridge needs two ports or more")
	}
}

func (v *validator) checkPortVLAN(i Interface, key string, l PortVLAN) {
	v.at = i.keyPath(key)
	switch l.Mode {
	case "access":
		if len(l.TrunkTags) > 0 || isTrue(l.EnableNative) {
			v.addProblem("mode access excludes trunk-tags and enable-native")
		}
	case "trunk":
		if len(l.TrunkTags) == 0 && i.Type != TypeOVSBridge {
			v.addProblem("mode trunk needs trunk-tags")
		}
		if l.Tag != nil && *l.Tag != 0 && !isTrue(l.EnableNative) {
			v.addProblem("tag in mode trunk needs enable-native: true")
		}
		if isTrue(l.EnableNative) && l.Tag == nil {
			v.addProblem("enable-native needs tag")
		}
	default:
		if l.Tag != nil || len(l.TrunkTags) > 0 || l.EnableNative != nil {
			v.addProblem("mode is missing")
		}
	}
	v.checkTrunkTags(l.TrunkTags)
}

func (v *validator) checkTrunkTags(tags []TrunkTag) {
	taken := map[int]bool{}
	for n, t := range tags {
		low, high, err := t.vlanRange()
		if err != nil {
			v.addProblem("trunk-tags[%d]: %v", n, err)
			continue
		}
		for id := low; id <= high; id++ {
			if taken[id] {
				v.addProblem("trunk-tags[%d]: VLAN %d is there already", n, id)
				break
			}
			taken[id] = true
		}
	}
}

func (t TrunkTag) vlanRange() (low, high int, err error) {
	switch {
	case (t.ID == nil) == (t.Range == nil):
		return 0, 0, fmt.Errorf("needs id or id-range, one of the two")
	case t.ID != nil:
		low, high = *t.ID, *t.ID
	default:
		low, high = t.Range.Min, t.Range.Max
	}
	if low < 1 || high > maxVLAN || low > high {
		return 0, 0, fmt.Errorf("%d-%d is not a range within 1-%d", low, high, maxVLAN)
	}
	return low, high, nil
}
