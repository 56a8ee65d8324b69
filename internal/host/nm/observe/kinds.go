package observe

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// byKind describes what only links of the kind have.
func (o *observer) byKind(i *netstate.Interface, l netlink.Link) {
	a := l.Attrs()
	ports := o.ports[a.Index]
	if ports == nil {
		ports = []string{}
	}
	if (i.Type == netstate.TypeEthernet || i.Type == netstate.TypeVeth) && i.State != netstate.StateIgnore {
		i.Ethernet, i.Ethtool = o.drivers.ReadEthernet(i.Name), o.drivers.ReadEthtool(i.Name)
	}
	switch v := l.(type) {
	case *netlink.Vlan:
		i.VLAN = &netstate.VLAN{ID: v.VlanId, BaseIface: o.k.NameOf(a.ParentIndex), Protocol: strings.ToLower(v.VlanProtocol.String())}
		if i.VLAN.Protocol == "unknown" {
			i.VLAN.Protocol = ""
		}
		vlanFlags(i.VLAN, v)
	case *netlink.Macvlan:
		i.MACVLAN = o.describeMACVLAN(v)
	case *netlink.Macvtap:
		i.MACVTAP = o.describeMACVLAN(&v.Macvlan)
	case *netlink.Vxlan:
		i.VXLAN = o.describeVXLAN(v)
	case *netlink.IPVlan:
		i.IPVLAN = &netstate.IPVLAN{
			BaseIface: o.k.NameOf(a.ParentIndex), Mode: ipVLANModes[v.Mode],
			Private: new(v.Flag == netlink.IPVLAN_FLAG_PRIVATE), VEPA: new(v.Flag == netlink.IPVLAN_FLAG_VEPA),
		}
	case *netlink.GenericLink:
		if i.Type == netstate.TypeMACSec {
			i.MACSec = kernel.ReadMACSec(a.Index)
			i.MACSec.BaseIface = o.k.NameOf(a.ParentIndex)
		}
	case *netlink.Vrf:
		i.VRF = &netstate.VRF{RouteTableID: int(v.Table), Ports: ports}
	case *netlink.Bond:
		i.Bond = &netstate.Bond{Mode: v.Mode.String(), Ports: ports, Options: o.bondOptions(v)}
	case *netlink.Bridge:
		i.Bridge = o.observeBridge(v, ports)
	case *netlink.Veth:
		if peer := o.k.NameOf(a.ParentIndex); peer != "" && i.Type == netstate.TypeVeth && a.NetNsID < 0 {
			i.Veth = &netstate.Veth{Peer: peer}
		}
	}
}

// ipVLANModes are nmstate's words.
var ipVLANModes = map[netlink.IPVlanMode]string{netlink.IPVLAN_MODE_L2: "l2", netlink.IPVLAN_MODE_L3: "l3", netlink.IPVLAN_MODE_L3S: "l3s"}

// macVLANModes are nmstate's words.
var macVLANModes = map[netlink.MacvlanMode]string{
	netlink.MACVLAN_MODE_VEPA: "vepa", netlink.MACVLAN_MODE_BRIDGE: "bridge", netlink.MACVLAN_MODE_PRIVATE: "private",
	netlink.MACVLAN_MODE_PASSTHRU: "passthru", netlink.MACVLAN_MODE_SOURCE: "source",
}

func (o *observer) describeMACVLAN(v *netlink.Macvlan) *netstate.MACVLAN {
	return &netstate.MACVLAN{
		BaseIface: o.k.NameOf(v.Attrs().ParentIndex), Mode: macVLANModes[v.Mode], Promiscuous: kernel.MACVLANPromiscuous(v.Attrs().Index),
	}
}

func (o *observer) describeVXLAN(v *netlink.Vxlan) *netstate.VXLAN {
	out := &netstate.VXLAN{ID: v.VxlanId, DestinationPort: v.Port, Learning: new(v.Learning)}
	if v.VtepDevIndex != 0 {
		out.BaseIface = o.k.NameOf(v.VtepDevIndex)
	}
	for text, ip := range map[*string]net.IP{&out.Remote: v.Group, &out.Local: v.SrcAddr} {
		if ip != nil && !ip.IsUnspecified() {
			*text = ip.String()
		}
	}
	return out
}

// vlanFlags are what the kernel does with the frames of a VLAN. It tells nothing of them where none is set.
func vlanFlags(out *netstate.VLAN, v *netlink.Vlan) {
	on := func(flag *bool) bool { return flag != nil && *flag }
	out.ReorderHeaders, out.LooseBinding = new(on(v.ReorderHdr)), new(on(v.LooseBinding))
	switch {
	case on(v.Gvrp):
		out.RegistrationProtocol = "gvrp"
	case on(v.Mvrp):
		out.RegistrationProtocol = "mvrp"
	default:
		out.RegistrationProtocol = "none"
	}
}

// bondOptions are those that administrators set; the kernel's names and words.
func (o *observer) bondOptions(b *netlink.Bond) netstate.Options {
	out := netstate.Options{}
	number := func(name string, v int) {
		if v >= 0 {
			out[name] = strconv.Itoa(v)
		}
	}
	number("miimon", b.Miimon)
	number("updelay", b.UpDelay)
	number("downdelay", b.DownDelay)
	number("arp_interval", b.ArpInterval)
	number("resend_igmp", b.ResendIgmp)
	number("min_links", b.MinLinks)
	number("lp_interval", b.LpInterval)
	if len(b.ArpIpTargets) > 0 {
		var all []string
		for _, ip := range b.ArpIpTargets {
			all = append(all, ip.String())
		}
		out["arp_ip_target"] = strings.Join(all, ",")
	}
	if b.Mode == netlink.BOND_MODE_802_3AD || b.Mode == netlink.BOND_MODE_BALANCE_XOR || b.Mode == netlink.BOND_MODE_BALANCE_TLB {
		out["xmit_hash_policy"] = b.XmitHashPolicy.String()
	}
	if b.Mode == netlink.BOND_MODE_802_3AD {
		out["lacp_rate"] = b.LacpRate.String()
	}
	if b.Mode == netlink.BOND_MODE_ACTIVE_BACKUP {
		out["fail_over_mac"] = b.FailOverMac.String()
	}
	if primary := o.k.NameOf(b.Primary); b.Primary > 0 && primary != "" {
		out["primary"] = primary // the modes that have one active port
	}
	return out
}

// observeBridge describes a Linux bridge with its ports. Times are the kernel's hundredths of a second, nmstate's seconds.
func (o *observer) observeBridge(b *netlink.Bridge, ports []string) *netstate.Bridge {
	dir := filepath.Join("/sys/class/net", b.Name, "bridge")
	options := &netstate.BridgeOptions{
		STP: &netstate.STP{
			Enabled: readFlag(dir, "stp_state"), ForwardDelay: readScaled(dir, "forward_delay", 100), HelloTime: readScaled(dir,
				"hello_time", 100),
			MaxAge: readScaled(dir, "max_age", 100), Priority: readScaled(dir, "priority", 1),
		},
		MACAgeingTime: o.ageingTime(b.Name, dir), GroupForwardMask: readScaled(dir, "group_fwd_mask", 1),
		MulticastSnooping: readFlag(dir, "multicast_snooping"), MulticastQuerier: readFlag(dir, "multicast_querier"),
		VLANDefaultPVID: readScaled(dir, "default_pvid", 1),
	}
	readMulticast(dir, options)
	options.GroupAddr, options.HashMax = strings.ToUpper(readText(dir, "group_addr")), readScaled(dir, "hash_max", 1)
	switch n := readScaled(dir, "vlan_protocol", 1); {
	case n == nil:
	case *n == unix.ETH_P_8021Q:
		options.VLANProtocol = "802.1q"
	case *n == unix.ETH_P_8021AD:
		options.VLANProtocol = "802.1ad"
	}
	out := &netstate.Bridge{Options: options, Ports: []netstate.BridgePort{}}
	filtered := b.VlanFiltering != nil && *b.VlanFiltering
	for _, name := range ports {
		p := netstate.BridgePort{Name: name}
		port := filepath.Join("/sys/class/net", name, "brport")
		p.PathCost, p.Priority = readScaled(port, "path_cost", 1), readScaled(port, "priority", 1)
		p.HairpinMode = readFlag(port, "hairpin_mode")
		if filtered {
			p.VLAN = portVLAN(o.vlanFilters()[int32(o.k.IndexOf(name))], options.VLANDefaultPVID)
		}
		out.Ports = append(out.Ports, p)
	}
	return out
}

// ageingTime is how long a bridge remembers addresses. While a spanning tree changes the kernel shows a shorter time, and the profile
// says what comes back; nil where there is none.
func (o *observer) ageingTime(name, dir string) *int {
	if changing := readFlag(dir, "topology_change"); changing == nil || !*changing {
		return readScaled(dir, "ageing_time", 100)
	}
	p, ok := o.s.ActiveOn(name)
	if !ok {
		return nil
	}
	if v, says := p.Settings[profile.TypeBridge]["ageing-time"].Value().(uint32); says {
		return new(int(v))
	}
	return new(300) // NetworkManager's default
}

// readMulticast reads the options of IGMP and MLD snooping, which a kernel may be built without. Their times have the kernel's unit
// in nmstate, too.
func readMulticast(dir string, o *netstate.BridgeOptions) {
	number := func(name string) *int { return readScaled(dir, "multicast_"+name, 1) }
	o.MulticastLastMemberCount, o.MulticastLastMemberInterval = number("last_member_count"), number("last_member_interval")
	o.MulticastMembershipInterval, o.MulticastQuerierInterval = number("membership_interval"), number("querier_interval")
	o.MulticastQueryInterval, o.MulticastQueryResponse = number("query_interval"), number("query_response_interval")
	o.MulticastStartupCount, o.MulticastStartupInterval = number("startup_query_count"), number("startup_query_interval")
	o.MulticastQueryUseIfaddr = readFlag(dir, "multicast_query_use_ifaddr")
	o.MulticastRouter = netstate.MulticastRouter(readText(dir, "multicast_router"))
}

// readText reads a text of sysfs; empty where there is none.
func readText(dir, name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSpace(string(text))
}

// readScaled reads a number of sysfs; nil where there is none.
func readScaled(dir, name string, by int) *int {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 0, 64)
	if err != nil {
		return nil
	}
	return new(int(n) / by)
}

func readFlag(dir, name string) *bool {
	n := readScaled(dir, name, 1)
	if n == nil {
		return nil
	}
	return new(*n != 0)
}

// portVLAN is the filter of a port, by the VLANs in which the kernel has it; nil where that is the bridge's default alone. In
// that one the kernel leaves a port which was given another native VLAN, untagged.
func portVLAN(memberships []*nl.BridgeVlanInfo, defaultPVID *int) *netstate.PortVLAN {
	var native int
	var tags []netstate.TrunkTag
	isDefault := func(id uint16) bool { return defaultPVID != nil && int(id) == *defaultPVID }
	for _, v := range memberships {
		switch {
		case v.PortVID():
			native = int(v.Vid)
		case !isDefault(v.Vid) || !v.EngressUntag():
			tags = append(tags, netstate.TrunkTag{ID: new(int(v.Vid))})
		}
	}
	own := native != 0 && (defaultPVID == nil || native != *defaultPVID)
	out := &netstate.PortVLAN{Mode: "trunk", EnableNative: &own, TrunkTags: tags}
	switch {
	case len(tags) == 0 && !own:
		return nil
	case len(tags) == 0:
		return &netstate.PortVLAN{Mode: "access", Tag: &native}
	case own:
		out.Tag = &native
	}
	return out.Canonical()
}

// vlanFilters reads the filters of all ports once.
func (o *observer) vlanFilters() map[int32][]*nl.BridgeVlanInfo {
	if o.filters == nil {
		all, err := kernel.List(netlink.BridgeVlanList)
		if err != nil {
			all = map[int32][]*nl.BridgeVlanInfo{} // a kernel without VLAN filters has none
		}
		o.filters = all
	}
	return o.filters
}
