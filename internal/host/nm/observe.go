package nm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
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
func (n *Network) observe(ctx context.Context, c *client, s *profile.Snapshot) (netstate.Document, error) {
	k, err := kernel.Read()
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
		Routes:     &netstate.Routes{Running: k.Routes, Config: kernel.Configured(k.Routes, k.Protocols)},
		DNS:        dns,
	}, nil
}

// interfaces lists what the kernel has, then the bridges only Open vSwitch has.
func interfaces(k *kernel.State, s *profile.Snapshot, bridges []netstate.Interface) []netstate.Interface {
	var out []netstate.Interface
	for _, l := range k.Links {
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

func describe(i *netstate.Interface, l netlink.Link, k *kernel.State) {
	a := l.Attrs()
	i.MTU = a.MTU
	i.MACAddress = strings.ToUpper(a.HardwareAddr.String())
	i.State = netstate.StateDown
	if a.RawFlags&unix.IFF_UP != 0 {
		i.State = netstate.StateUp
	}
	if v, ok := l.(*netlink.Vlan); ok {
		i.VLAN = &netstate.VLAN{ID: v.VlanId, BaseIface: k.NameOf(a.ParentIndex)}
	}
	if _, ok := l.(*netlink.Bridge); !ok {
		return
	}
	i.Bridge = &netstate.Bridge{}
	for _, p := range k.Links {
		if p.Attrs().MasterIndex == a.Index {
			i.Bridge.Ports = append(i.Bridge.Ports, netstate.BridgePort{Name: p.Attrs().Name})
		}
	}
}

// linkType is nmstate's name of the kernel's kind of link; "" leaves the link out.
// A pair of virtual cards counts as ethernet, as in nmstate's name space.
func linkType(l netlink.Link, s *profile.Snapshot, bridges []netstate.Interface) string {
	a := l.Attrs()
	if a.RawFlags&unix.IFF_LOOPBACK != 0 || a.Name == "ovs-system" || a.Name == "ovs-netdev" ||
		strings.HasPrefix(a.Name, "genev_sys_") || strings.HasPrefix(a.Name, "vxlan_sys_") {
		return ""
	}
	if d, ok := s.Device(a.Name); ok && d.Kind == profile.DeviceOVSInterface && l.Type() != "device" && l.Type() != "veth" {
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

func addIP(i *netstate.Interface, l netlink.Link, k *kernel.State, s *profile.Snapshot) {
	i.IPv4 = &netstate.IP{Enabled: new(len(k.Addresses[l.Attrs().Index][netstate.IPv4]) > 0)}
	i.IPv6 = &netstate.IP{Enabled: new(k.SpeaksIPv6[l.Attrs().Index])}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		for _, p := range k.Addresses[l.Attrs().Index][f] {
			f.Of(*i).Addresses = append(f.Of(*i).Addresses, netstate.FromPrefix(p))
		}
	}
	p, ok := s.ActiveOn(i.Name)
	if !ok {
		return
	}
	method4 := profile.Value[string](p.Settings, "ipv4", "method")
	method6 := profile.Value[string](p.Settings, "ipv6", "method")
	i.IPv4.DHCP = pointer(method4 == "auto")
	i.IPv6.DHCP = pointer(method6 == "auto" || method6 == "dhcp")
	i.IPv6.Autoconf = pointer(method6 == "auto")
	i.IPv4.Enabled = new(i.IPv4.On() || *i.IPv4.DHCP)
	i.IPv6.Enabled = new(i.IPv6.On() || *i.IPv6.DHCP)
}

func pointer[T any](v T) *T { return &v }
