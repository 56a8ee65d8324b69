package nm

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Observe implements host.Network. Addresses that cannot be used yet (duplicate
// address detection runs or failed) and IPv6 link-local ones are left out; loopback
// and the tunnels of Open vSwitch are, too.
func (n *Network) Observe(ctx context.Context) (netstate.Document, error) {
	c, err := n.connect(ctx)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	defer c.close()
	s, err := c.snapshot(ctx)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	return n.observe(ctx, c, s)
}

// observe joins three witnesses: the kernel for what is, NetworkManager for what
// the kernel cannot tell, Open vSwitch for its bridges.
func (n *Network) observe(ctx context.Context, c *client, s *snapshot) (netstate.Document, error) {
	k, err := readKernel()
	if err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	var bridges []netstate.Interface
	if n.o.Switch != nil {
		if bridges, err = n.o.Switch.Interfaces(ctx); err != nil {
			return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
		}
	}
	dns, err := c.resolver(ctx, s)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	return netstate.Document{
		Interfaces: interfaces(k, s, bridges),
		Routes:     &netstate.Routes{Running: k.routes, Config: configured(k.routes, k.protocols)},
		DNS:        dns,
	}, nil
}

// interfaces lists what the kernel has, then the bridges only Open vSwitch has.
func interfaces(k *kernel, s *snapshot, bridges []netstate.Interface) []netstate.Interface {
	var out []netstate.Interface
	for _, l := range k.links {
		i := netstate.Interface{Name: l.Attrs().Name, Type: linkType(l, s, bridges)}
		if i.Type == "" {
			continue
		}
		describe(&i, l, k)
		addIP(&i, l, k, s)
		out = append(out, i)
	}
	for _, b := range bridges {
		if b.Type == netstate.TypeOVSBridge {
			b.State = netstate.StateUp
			out = append(out, b)
		}
	}
	return out
}

func describe(i *netstate.Interface, l netlink.Link, k *kernel) {
	a := l.Attrs()
	i.MTU = a.MTU
	i.MACAddress = strings.ToUpper(a.HardwareAddr.String())
	i.State = netstate.StateDown
	if a.RawFlags&unix.IFF_UP != 0 {
		i.State = netstate.StateUp
	}
	if v, ok := l.(*netlink.Vlan); ok {
		i.VLAN = &netstate.VLAN{ID: v.VlanId, BaseIface: k.nameOf(a.ParentIndex)}
	}
	if _, ok := l.(*netlink.Bridge); !ok {
		return
	}
	i.Bridge = &netstate.Bridge{}
	for _, p := range k.links {
		if p.Attrs().MasterIndex == a.Index {
			i.Bridge.Ports = append(i.Bridge.Ports, netstate.BridgePort{Name: p.Attrs().Name})
		}
	}
}

// linkType is nmstate's name of the kernel's kind of link; "" leaves the link out.
// A pair of virtual cards counts as ethernet, as in nmstate's name space.
func linkType(l netlink.Link, s *snapshot, bridges []netstate.Interface) string {
	a := l.Attrs()
	if a.RawFlags&unix.IFF_LOOPBACK != 0 || a.Name == "ovs-system" || a.Name == "ovs-netdev" ||
		strings.HasPrefix(a.Name, "genev_sys_") || strings.HasPrefix(a.Name, "vxlan_sys_") {
		return ""
	}
	if d, ok := s.device(a.Name); ok && d.kind == deviceOVSInterface && l.Type() != "device" && l.Type() != "veth" {
		return netstate.TypeOVSInterface
	}
	internal := func(i netstate.Interface) bool { return i.Name == a.Name && i.Type == netstate.TypeOVSInterface }
	if slices.ContainsFunc(bridges, internal) {
		return netstate.TypeOVSInterface
	}
	switch t := l.Type(); t {
	case "device", "veth":
		return netstate.TypeEthernet
	case "bridge":
		return "linux-bridge"
	case "macvlan":
		return "mac-vlan"
	case "openvswitch":
		return netstate.TypeOVSInterface
	default:
		return t
	}
}

func addIP(i *netstate.Interface, l netlink.Link, k *kernel, s *snapshot) {
	i.IPv4 = &netstate.IP{Enabled: len(k.addresses[l.Attrs().Index][netstate.IPv4]) > 0}
	i.IPv6 = &netstate.IP{Enabled: k.speaksIPv6[l.Attrs().Index]}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		for _, p := range k.addresses[l.Attrs().Index][f] {
			f.Of(*i).Addresses = append(f.Of(*i).Addresses, netstate.FromPrefix(p))
		}
	}
	p, ok := s.activeOn(i.Name)
	if !ok {
		return
	}
	method4 := value[string](p.settings, "ipv4", "method")
	method6 := value[string](p.settings, "ipv6", "method")
	i.IPv4.DHCP = pointer(method4 == "auto")
	i.IPv6.DHCP = pointer(method6 == "auto" || method6 == "dhcp")
	i.IPv6.Autoconf = pointer(method6 == "auto")
	i.IPv4.Enabled = i.IPv4.Enabled || *i.IPv4.DHCP
	i.IPv6.Enabled = i.IPv6.Enabled || *i.IPv6.DHCP
}

func pointer[T any](v T) *T { return &v }

// configured picks the routes somebody asked for; the others came by themselves
// (router advertisements, DHCP).
func configured(routes []netstate.Route, protocols []int) []netstate.Route {
	var out []netstate.Route
	for i, r := range routes {
		if protocols[i] == unix.RTPROT_STATIC || protocols[i] == unix.RTPROT_BOOT {
			out = append(out, r)
		}
	}
	return out
}

// usable says that packets may carry the address as source.
func usable(flags int) bool {
	return flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) == 0 || flags&unix.IFA_F_OPTIMISTIC != 0
}

func prefixOf(a netlink.Addr) (netip.Prefix, bool) {
	ip, ok := netip.AddrFromSlice(a.IP)
	if !ok || a.IPNet == nil {
		return netip.Prefix{}, false
	}
	ones, _ := a.Mask.Size()
	return netip.PrefixFrom(ip.Unmap(), ones), true
}
