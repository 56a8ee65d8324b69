package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Resolve replaces what depends on the node: interfaces to ignore are left out, those identified by their MAC address get
// their link's name, a missing type is the observed one's, "controller" becomes a port of the controller, a port of Open vSwitch
// that is nowhere becomes an interface of it, and routes into a VRF get its table.
func Resolve(want, now netstate.Document) (netstate.Document, error) {
	out := want
	out.Interfaces = nil
	for _, i := range want.Interfaces {
		if i.State == netstate.StateIgnore {
			continue
		}
		if err := resolveIdentity(&i, now); err != nil {
			return out, fmt.Errorf("interface %s: %w", i.Name, err)
		}
		if i.MeansSwitch(now) {
			i.Type = netstate.TypeOVSBridge
			if err := netstate.Validate(netstate.Document{Interfaces: []netstate.Interface{i}}); err != nil {
				return out, err
			}
		}
		if have, ok := carrierOf(now, i.Name); ok && (i.Type == "" || isCard(i.Type) && isCard(have.Type)) {
			i.Type = have.Type // an end of a pair may be called a card
		}
		i.IPv4, i.IPv6 = inheritEnabled(i, now, netstate.IPv4), inheritEnabled(i, now, netstate.IPv6)
		out.Interfaces = append(out.Interfaces, i)
	}
	if err := resolveControllers(&out, now); err != nil {
		return out, err
	}
	addInternalPorts(&out, now)
	return out, vrfRoutes(&out, now)
}

// addInternalPorts describes the ports of bridges of Open vSwitch that neither the document nor the node has: they are made as internal
// interfaces, as nmstate does.
func addInternalPorts(d *netstate.Document, now netstate.Document) {
	for _, bridge := range slices.Clone(d.Interfaces) {
		if bridge.Type != netstate.TypeOVSBridge || bridge.State == netstate.StateAbsent || bridge.State == netstate.StateDown {
			continue
		}
		for _, port := range portsOf(bridge) {
			_, described := carrierOf(*d, port)
			if _, exists := carrierOf(now, port); exists || described || isBondIn(bridge, port) {
				continue
			}
			d.Interfaces = append(d.Interfaces, netstate.Interface{
				Name: port, Type: netstate.TypeOVSInterface, State: netstate.StateUp,
			})
		}
	}
}

// isBondIn says that a port of a bridge of Open vSwitch is a bond, which is no interface.
func isBondIn(bridge netstate.Interface, port string) bool {
	return slices.ContainsFunc(bridge.Bridge.Ports, func(p netstate.BridgePort) bool { return p.Name == port && p.Bond != nil })
}

// resolveIdentity finds the link of an interface by its MAC address, the permanent one first.
func resolveIdentity(i *netstate.Interface, now netstate.Document) error {
	if i.Identifier != netstate.IdentifierMAC {
		return nil
	}
	for _, of := range []func(netstate.Interface) string{
		func(o netstate.Interface) string { return o.PermanentMACAddress },
		func(o netstate.Interface) string { return o.MACAddress },
	} {
		for _, o := range now.Interfaces {
			if of(o) != "" && strings.EqualFold(of(o), i.MACAddress) && (isCard(o.Type) || o.Type == i.Type) {
				if i.ProfileName == "" {
					i.ProfileName = i.Name
				}
				i.Name = o.Name
				return nil
			}
		}
	}
	return fmt.Errorf("no interface has the MAC address %s", i.MACAddress)
}

// inheritEnabled completes a family: whether it is on, where the document does not say, is what it is now.
func inheritEnabled(i netstate.Interface, now netstate.Document, f netstate.Family) *netstate.IP {
	ip := f.Of(i)
	if ip == nil || ip.Enabled != nil {
		return ip
	}
	have, _ := carrierOf(now, i.Name)
	full := *ip
	full.Enabled = new(f.Of(have).On())
	return &full
}

func isCard(kind string) bool { return kind == netstate.TypeEthernet || kind == netstate.TypeVeth }

func carrierOf(d netstate.Document, name string) (netstate.Interface, bool) {
	for _, i := range d.Interfaces {
		if i.Name == name && i.Type != netstate.TypeOVSBridge {
			return i, true
		}
	}
	return netstate.Interface{}, false
}

// resolveControllers turns the short form "controller: br0" of a port into an entry of br0's list.
func resolveControllers(d *netstate.Document, now netstate.Document) error {
	for n := range d.Interfaces {
		port := d.Interfaces[n]
		if port.Controller == nil {
			continue
		}
		d.Interfaces[n].Controller = nil
		if was := controllerOf(now, port.Name); was != "" && was != *port.Controller {
			if err := editPorts(d, now, was, func(all []string) []string {
				return slices.DeleteFunc(all, func(p string) bool { return p == port.Name })
			}); err != nil {
				return err
			}
		}
		if *port.Controller == "" {
			continue
		}
		if err := editPorts(d, now, *port.Controller, func(all []string) []string {
			if slices.Contains(all, port.Name) {
				return all
			}
			return append(all, port.Name)
		}); err != nil {
			return fmt.Errorf("interface %s: controller %s: %w", port.Name, *port.Controller, err)
		}
	}
	return nil
}

// controllerOf is the observed controller of a port; empty for none.
func controllerOf(now netstate.Document, port string) string {
	for _, i := range now.Interfaces {
		if slices.Contains(portsOf(i), port) && i.Name != port {
			return i.Name
		}
	}
	return ""
}

// editPorts changes a controller's list in the document; it starts from the observed one where the document has none.
func editPorts(d *netstate.Document, now netstate.Document, name string, edit func([]string) []string) error {
	have, exists := now.Find(name, netstate.TypeOVSBridge)
	if !exists {
		have, exists = now.Find(name, "")
	}
	at := slices.IndexFunc(d.Interfaces, func(i netstate.Interface) bool { return i.Name == name && i.Type == netstate.TypeOVSBridge })
	if at < 0 {
		at = slices.IndexFunc(d.Interfaces, func(i netstate.Interface) bool {
			return i.Name == name && (i.Type != netstate.TypeOVSInterface || have.Type == netstate.TypeOVSInterface)
		})
	}
	if at < 0 {
		if !exists {
			return fmt.Errorf("there is no interface %s", name)
		}
		d.Interfaces = append(d.Interfaces, netstate.Interface{Name: name, Type: have.Type, State: netstate.StateUp})
		at = len(d.Interfaces) - 1
	}
	i := &d.Interfaces[at]
	if i.State == netstate.StateAbsent || i.State == netstate.StateDown {
		return nil
	}
	list := portsOf(*i)
	if list == nil {
		list = slices.Clone(portsOf(have))
	}
	return setPorts(i, edit(list))
}

func setPorts(i *netstate.Interface, names []string) error {
	switch i.Type {
	case netstate.TypeBond:
		bond := netstate.Bond{}
		if i.Bond != nil {
			bond = *i.Bond
		}
		bond.Ports = names
		i.Bond = &bond
	case netstate.TypeVRF:
		vrf := netstate.VRF{}
		if i.VRF != nil {
			vrf = *i.VRF
		}
		vrf.Ports = names
		i.VRF = &vrf
	case netstate.TypeLinuxBridge, netstate.TypeOVSBridge:
		bridge := netstate.Bridge{}
		if i.Bridge != nil {
			bridge = *i.Bridge
		}
		ports := []netstate.BridgePort{} // none is not the same as no list
		for _, n := range names {
			at := slices.IndexFunc(bridge.Ports, func(p netstate.BridgePort) bool { return p.Name == n })
			if at < 0 {
				ports = append(ports, netstate.BridgePort{Name: n})
			} else {
				ports = append(ports, bridge.Ports[at])
			}
		}
		bridge.Ports = ports
		i.Bridge = &bridge
	default:
		return fmt.Errorf("an interface of type %s has no ports", i.Type)
	}
	return nil
}

// portsOf are the ports that a controller lists; nil where it lists none.
func portsOf(i netstate.Interface) []string {
	switch {
	case i.Bond != nil && i.Bond.Ports != nil:
		return i.Bond.Ports
	case i.Bond != nil && i.Bond.PortsConfig != nil:
		out := []string{}
		for _, p := range i.Bond.PortsConfig {
			out = append(out, p.Name)
		}
		return out
	case i.VRF != nil && i.VRF.Ports != nil:
		return i.VRF.Ports
	case i.Bridge != nil && i.Bridge.Ports != nil:
		out := []string{}
		for _, p := range i.Bridge.Ports {
			out = append(out, p.Name)
		}
		return out
	}
	return nil
}

// vrfRoutes gives routes that name a VRF its table.
func vrfRoutes(d *netstate.Document, now netstate.Document) error {
	if d.Routes == nil {
		return nil
	}
	routes := *d.Routes
	routes.Config = slices.Clone(routes.Config)
	d.Routes = &routes
	for n := range routes.Config {
		r := &routes.Config[n]
		if r.VRFName == "" {
			continue
		}
		vrf, ok := d.Find(r.VRFName, netstate.TypeVRF)
		if !ok || vrf.VRF == nil || vrf.VRF.RouteTableID == 0 {
			vrf, ok = now.Find(r.VRFName, netstate.TypeVRF)
		}
		if !ok || vrf.VRF == nil {
			return fmt.Errorf("route to %s: there is no vrf %s", r.Destination, r.VRFName)
		}
		r.TableID, r.VRFName = vrf.VRF.RouteTableID, ""
	}
	return nil
}
