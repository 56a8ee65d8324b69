package nm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nodewide"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/plan"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// States of an active connection.
const activeActivated = 2

// verify waits until the system is what the document says. It fails at once where
// NetworkManager gave up or another machine uses the address.
func (t *transaction) verify(ctx context.Context) error {
	return t.wait(ctx, func() ([]string, error) {
		waiting, err := t.activation(ctx)
		if err != nil || len(waiting) > 0 {
			return waiting, err
		}
		_, got, err := t.n.look(ctx, t.c, t.names())
		if err != nil {
			return nil, err
		}
		if err := restoreForeign(t.record.ForeignAfter); err != nil {
			return nil, err
		}
		missing := netstate.Verify(nodewide.Unstored(t.record.After), got)
		for _, c := range t.changes {
			if err := t.duplicate(c.Iface); err != nil && len(missing) > 0 {
				return nil, err
			}
		}
		return missing, nil
	})
}

func restoreForeign(all []kernel.Foreign) error {
	for _, f := range all {
		if err := f.Restore(); err != nil {
			return fmt.Errorf("restore the configuration of other programs: %w", err)
		}
	}
	return nil
}

// activation names the interfaces NetworkManager still works on.
func (t *transaction) activation(ctx context.Context) ([]string, error) {
	var waiting []string
	for iface, path := range t.activating {
		p, err := t.c.properties(ctx, path, ifaceActive)
		if err != nil && !gone(err) {
			return nil, fmt.Errorf("observe the activation of %s: %w", iface, err)
		}
		switch state := profile.Get[uint32](p, "State"); {
		case gone(err) || state > activeActivated:
			if err := t.duplicate(iface); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("NetworkManager gave up on %s: %s", iface, t.reason(ctx, iface))
		case state < activeActivated:
			waiting = append(waiting, iface+" is being activated")
		}
	}
	slices.Sort(waiting)
	return waiting, nil
}

// reason is what NetworkManager says of the device's last change of state.
func (t *transaction) reason(ctx context.Context, iface string) string {
	s, err := t.c.snapshot(ctx)
	if err != nil {
		return err.Error()
	}
	d, ok := s.Device(iface)
	if !ok {
		return "the device is gone"
	}
	p, err := t.c.properties(ctx, d.Path, ifaceDevice)
	if err != nil {
		return err.Error()
	}
	why, _ := p["StateReason"].Value().([]any)
	if len(why) != 2 {
		return fmt.Sprintf("device state %d", d.State)
	}
	text := map[uint32]string{
		0: "no reason given", 1: "unknown reason", 4: "the interface could not be configured", 5: "the addresses could not be used",
		6: "the DHCP lease ran out", 15: "DHCP did not start", 16: "DHCP error", 17: "DHCP failed", 36: "the device was removed",
		37: "the machine sleeps", 38: "the profile was removed", 39: "a user disconnected it", 40: "the cable is out",
		53: "a device it depends on failed", 60: "another activation took over",
	}
	code, _ := why[1].(uint32)
	if s, ok := text[code]; ok {
		return s
	}
	return fmt.Sprintf("reason %d of NetworkManager's device states", code)
}

// duplicate reports an address of the interface that another machine on its link has.
func (t *transaction) duplicate(iface string) error {
	link, err := netlink.LinkByName(iface)
	if err != nil {
		return nil //nolint:nilerr // no link, no duplicate
	}
	if a, ok := t.events.duplicate(link.Attrs().Index); ok {
		return fmt.Errorf("another machine on the link of %s already has %s", iface, a)
	}
	return nil
}

// kernelCan refuses what the kernel would: better before the change than halfway.
func kernelCan(changes []*plan.Change) error {
	asked := map[string]error{}
	for _, c := range changes {
		kind, module := c.After.Kind(), linkModules[c.After.Kind()]
		if c.Action != plan.ActUp || module == "" {
			continue
		}
		if _, done := asked[kind]; !done {
			// A link with a multicast address is invalid, so nothing is made; a kernel that does not know the kind says
			// so before it looks that far.
			asked[kind] = netlink.LinkAdd(&netlink.GenericLink{
				LinkAttrs: netlink.LinkAttrs{Name: "lca-probe", HardwareAddr: net.HardwareAddr{1, 0, 0, 0, 0, 0}}, LinkType: kind,
			})
		}
		if errors.Is(asked[kind], unix.EOPNOTSUPP) {
			return fmt.Errorf("interface %s: this kernel has no links of kind %s (module %s)", c.Iface, kind, module)
		}
	}
	return nil
}

// linkModules are the kernel's modules of the kinds of links that a profile may ask for. NetworkManager and the kernel
// name these kinds alike.
var linkModules = map[string]string{
	profile.TypeVLAN: "8021q", profile.TypeBond: "bonding", profile.TypeDummy: "dummy", profile.TypeVRF: "vrf",
	profile.TypeMACVLAN: "macvlan", profile.TypeBridge: "bridge",
}

// before is how the given interfaces are now, in a form netstate.Verify can hold the system
// to after going back: fixed addresses and configured routes.
func before(now netstate.Document, ifaces []string) netstate.Document {
	out := netstate.Document{Routes: &netstate.Routes{}}
	for _, i := range now.Interfaces {
		if !slices.Contains(ifaces, i.Name) || i.Type == netstate.TypeOVSBridge {
			continue
		}
		b := netstate.Interface{Name: i.Name, Type: i.Type, State: i.State, VLAN: i.VLAN, VRF: i.VRF}
		if i.Bond != nil {
			b.Bond = &netstate.Bond{Mode: i.Bond.Mode, Ports: i.Bond.Ports}
		}
		if i.Bridge != nil {
			b.Bridge = &netstate.Bridge{}
			for _, p := range i.Bridge.Ports {
				b.Bridge.Ports = append(b.Bridge.Ports, netstate.BridgePort{Name: p.Name, VLAN: p.VLAN})
			}
		}
		for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			if ip := f.Of(i); !ip.Auto() && i.State == netstate.StateUp {
				keep := &netstate.IP{Enabled: ip.Enabled, Addresses: ip.Addresses}
				if f == netstate.IPv4 {
					b.IPv4 = keep
				} else {
					b.IPv6 = keep
				}
			}
		}
		out.Interfaces = append(out.Interfaces, b)
	}
	for _, r := range now.Routes.Config {
		if slices.Contains(ifaces, r.NextHopInterface) {
			out.Routes.Config = append(out.Routes.Config, r)
		}
	}
	return out
}
