// Package observe describes the links of the node in nmstate's words, from what the kernel, NetworkManager and Open vSwitch
// know of them.
//
// Package nm uses it; it imports netstate, nm/kernel, nm/profile and netlink.
package observe

import (
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Interfaces lists what the kernel has, then the bridges and patches that only Open vSwitch has.
func Interfaces(k *kernel.State, s *profile.Snapshot, bridges []netstate.Interface) []netstate.Interface {
	o := &observer{
		k: k, s: s, ports: map[int][]string{}, internal: map[string]bool{}, switches: map[string]bool{},
		columns: map[string]*netstate.OVSDB{}, drivers: kernel.OpenDrivers(),
	}
	defer o.drivers.Close()
	for _, l := range k.Links {
		if master := l.Attrs().MasterIndex; master != 0 {
			o.ports[master] = append(o.ports[master], l.Attrs().Name)
		}
	}
	for _, names := range o.ports {
		slices.Sort(names)
	}
	for _, b := range bridges {
		o.internal[b.Name] = o.internal[b.Name] || b.Type == netstate.TypeOVSInterface
		if b.Type != netstate.TypeOVSBridge {
			o.columns[b.Name] = b.OVSDB
		}
		o.switches[b.Name] = o.switches[b.Name] || b.Type == netstate.TypeOVSBridge
	}
	var out []netstate.Interface
	for _, l := range k.Links {
		i := netstate.Interface{Name: l.Attrs().Name, Type: o.linkType(l)}
		if i.Type == "" {
			continue
		}
		i.OVSDB = o.columns[i.Name]
		o.describeLink(&i, l)
		o.addIP(&i, l)
		out = append(out, i)
	}
	for _, b := range bridges {
		if b.Type == netstate.TypeOVSBridge || b.Patch != nil {
			b.State = netstate.StateUp
			if b.Type == netstate.TypeOVSBridge {
				b.Description = o.describedBridge(b.Name)
			}
			out = append(out, b)
		}
	}
	return append(out, o.emptySwitches()...)
}

// observer joins the witnesses.
type observer struct {
	k        *kernel.State
	drivers  *kernel.Drivers
	s        *profile.Snapshot
	ports    map[int][]string // names by the index of the controller, sorted
	internal map[string]bool  // interfaces of Open vSwitch
	columns  map[string]*netstate.OVSDB
	switches map[string]bool // bridges of Open vSwitch
	filters  map[int32][]*nl.BridgeVlanInfo
}

func (o *observer) describeLink(i *netstate.Interface, l netlink.Link) {
	a := l.Attrs()
	i.MTU = a.MTU
	i.MACAddress = strings.ToUpper(a.HardwareAddr.String())
	i.PermanentMACAddress = strings.ToUpper(a.PermHWAddr.String())
	i.HasCarrier = a.RawFlags&unix.IFF_LOWER_UP != 0
	i.State = netstate.StateDown
	if a.RawFlags&unix.IFF_UP != 0 {
		i.State = netstate.StateUp
	}
	if d, ok := o.s.Device(i.Name); ok && d.State == profile.DeviceUnmanaged {
		i.State = netstate.StateIgnore // there may be thousands, of containers: the details of links are for those that can be set
	} else {
		i.AcceptAll = new(a.RawFlags&unix.IFF_PROMISC != 0)
	}
	if p, ok := o.s.ActiveOn(i.Name); ok {
		if id := p.Settings.ID(); id != i.Name {
			i.ProfileName = id
		}
		if text := p.Settings.Description(); text != "" {
			i.Description = &text
		}
	}
	o.byKind(i, l)
}

// describedBridge is the description in the profile of a bridge of Open vSwitch; nil for none. NetworkManager notes the
// activation of a bridge nowhere in its files, but a bridge has one profile.
func (o *observer) describedBridge(name string) *string {
	for _, p := range o.s.Profiles {
		if !p.Generated && p.Settings.Kind() == profile.TypeOVSBridge && p.Settings.Iface() == name && p.Settings.Description() != "" {
			return new(p.Settings.Description())
		}
	}
	return nil
}

// linkType is nmstate's name of the kernel's kind of link; "" leaves the link out.
// A pair of virtual cards counts as ethernet, as in nmstate's name space.
func (o *observer) linkType(l netlink.Link) string {
	a := l.Attrs()
	if a.RawFlags&unix.IFF_LOOPBACK != 0 {
		return netstate.TypeLoopback
	}
	if a.Name == "ovs-system" || a.Name == "ovs-netdev" ||
		strings.HasPrefix(a.Name, "genev_sys_") || strings.HasPrefix(a.Name, "vxlan_sys_") {
		return ""
	}
	if d, ok := o.s.Device(a.Name); ok && d.Kind == profile.DeviceOVSInterface && l.Type() != "device" && l.Type() != "veth" {
		return netstate.TypeOVSInterface
	}
	if o.internal[a.Name] {
		return netstate.TypeOVSInterface
	}
	if o.switches[a.Name] {
		return "" // every bridge has a link of its name, also where none of its ports has that name
	}
	switch t := l.Type(); t {
	case "device":
		return netstate.TypeEthernet
	case "veth":
		return o.vethType(a)
	case "bridge":
		return "linux-bridge"
	case "macvlan":
		return "mac-vlan"
	case "macvtap":
		return netstate.TypeMACVTAP
	case "tuntap":
		return "tun"
	case "ipoib":
		return "infiniband"
	case "openvswitch":
		return netstate.TypeOVSInterface
	default:
		return t
	}
}

// vethType tells a pair of this node, or one that NetworkManager leaves alone, from an end that is used as a card: its
// other end is in another network namespace.
func (o *observer) vethType(a *netlink.LinkAttrs) string {
	d, known := o.s.Device(a.Name)
	if a.NetNsID < 0 || known && d.State == profile.DeviceUnmanaged {
		return netstate.TypeVeth
	}
	return netstate.TypeEthernet
}

func (o *observer) addIP(i *netstate.Interface, l netlink.Link) {
	index := l.Attrs().Index
	on4 := len(o.k.Addresses[index][netstate.IPv4]) > 0
	on6 := o.k.SpeaksIPv6[index]
	var auto4, auto6, autoconf *bool
	if p, ok := o.s.ActiveOn(i.Name); ok {
		method4 := profile.Value[string](p.Settings, "ipv4", "method")
		method6 := profile.Value[string](p.Settings, "ipv6", "method")
		auto4, auto6 = new(method4 == "auto"), new(method6 == "auto" || method6 == "dhcp")
		autoconf = new(method6 == "auto")
		on4, on6 = on4 || *auto4, on6 || *auto6
	}
	if i.Type == netstate.TypeLoopback { // what a profile says of the network has no meaning for it
		auto4, auto6, autoconf = nil, nil, nil
	}
	i.IPv4 = &netstate.IP{Enabled: &on4, DHCP: auto4}
	i.IPv6 = &netstate.IP{Enabled: &on6, DHCP: auto6, Autoconf: autoconf}
	if p, ok := o.s.ActiveOn(i.Name); ok && i.Type != netstate.TypeLoopback {
		fillFromProfile(i, p.Settings)
	}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		for _, p := range o.k.Addresses[index][f] {
			a := netstate.FromPrefix(p)
			a.Leased = o.k.IsLeased(index, p)
			f.Of(*i).Addresses = append(f.Of(*i).Addresses, a)
		}
	}
}
