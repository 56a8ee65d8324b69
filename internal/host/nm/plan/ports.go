package plan

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/property"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// planMembers attaches the ports that the document's controllers list and detaches those that they no longer list.
func (p *Plan) planMembers() error {
	taken := map[string]string{}
	for _, i := range p.want.Interfaces {
		if i.State == netstate.StateAbsent || i.State == netstate.StateDown {
			continue
		}
		for _, port := range Ports(i) {
			if other := taken[port]; other != "" {
				return fmt.Errorf("interface %s is a port of both %s and %s", port, other, i.Name)
			}
			taken[port] = i.Name
			if i.Type == netstate.TypeOVSBridge {
				continue // planned with its bridge
			}
			if p.isPortOfOthers(i, port) {
				continue
			}
			if err := p.attachPort(i, port); err != nil {
				return fmt.Errorf("port %s of %s: %w", port, i.Name, err)
			}
		}
	}
	for _, i := range p.want.Interfaces {
		if err := p.detachFrom(i, taken); err != nil {
			return err
		}
	}
	return nil
}

// isPortOfOthers says that a port is one already without any profile, that NetworkManager leaves it alone or no document can describe
// it, and that this one does not: it stays as it is.
func (p *Plan) isPortOfOthers(controller netstate.Interface, port string) bool {
	now, exists := carrierOf(p.now, port)
	_, described := carrierOf(p.want, port)
	have, _ := p.now.Find(controller.Name, controller.Type)
	others := now.State == netstate.StateIgnore || !slices.Contains(keys.Configurable(), now.Type)
	return exists && !described && others && slices.Contains(Ports(have), port)
}

// attachPort makes a profile one of a port.
func (p *Plan) attachPort(controller netstate.Interface, port string) error {
	desired, _ := carrierOf(p.want, port)
	desired.Name = port
	if desired.State == netstate.StateAbsent || desired.State == netstate.StateDown {
		return fmt.Errorf("the document makes it %s", desired.State)
	}
	c, err := p.ensureChange(netstate.Interface{Name: port, Type: desired.Type})
	if err != nil {
		return err
	}
	kind := profileType(controller.Type)
	p.setController(c, controller.Name, kind)
	switch controller.Type {
	case netstate.TypeVRF:
		return nil // its ports keep their addresses
	case netstate.TypeBond:
		err = bondPort(c, controller.Bond, port)
	case netstate.TypeLinuxBridge:
		err = bridgePort(c, controller.Bridge, port)
	}
	if err != nil {
		return err
	}
	if desired.IPv4.On() || desired.IPv6.On() {
		return fmt.Errorf("a port of a %s cannot have addresses; disable IPv4 and IPv6 on it", controller.Type)
	}
	delete(c.After, "ipv4")
	delete(c.After, "ipv6")
	delete(c.After, "proxy")
	return nil
}

// setController names the controller in a profile; a profile may name it by its UUID, too.
func (p *Plan) setController(c *Change, name, kind string) {
	if !c.After.Autoconnect() {
		c.After.Set("connection", "autoconnect", true)
	}
	have := profile.Value[string](c.After, "connection", "master")
	if pr, ok := p.snap.ByUUID(have); ok {
		have = pr.Settings.Iface()
	}
	if have != "" && have != name && c.Before != nil {
		c.Fresh, c.Moved = true, true // what runs cannot be handed over in place
	}
	if have == name && profile.Value[string](c.After, "connection", "slave-type") == kind {
		return
	}
	c.After.Set("connection", "master", name)
	c.After.Set("connection", "slave-type", kind)
	for _, twin := range []string{"controller", "port-type"} {
		c.After.Drop("connection", twin) // the newer names of the same properties
	}
	for of, section := range portSections { // NetworkManager refuses those of another kind of controller
		if of != kind {
			delete(c.After, section)
		}
	}
	if kind != profile.TypeOVSPort && c.After.Kind() != profile.TypeOVSInterface {
		dropSwitchSections(c.After)
	}
}

// dropSwitchSections leaves out what a profile says as an interface of Open vSwitch.
func dropSwitchSections(s profile.Settings) {
	for _, section := range []string{profile.TypeOVSInterface, profile.SectionExternalIDs, profile.SectionOtherConfig} {
		delete(s, section)
	}
}

// portSections hold what a profile says as one of a port, by the kind of controller.
var portSections = map[string]string{profile.TypeBond: "bond-port", profile.TypeBridge: "bridge-port", "team": "team-port"}

func bondPort(c *Change, b *netstate.Bond, port string) error {
	at := slices.IndexFunc(b.PortsConfig, func(m netstate.BondMember) bool { return m.Name == port })
	if at < 0 {
		return nil
	}
	_, err := property.Write(keys.In(keys.BondPorts, netstate.TypeBond), &b.PortsConfig[at], nil, c.After)
	return err
}

func bridgePort(c *Change, b *netstate.Bridge, port string) error {
	at := slices.IndexFunc(b.Ports, func(p netstate.BridgePort) bool { return p.Name == port })
	if at < 0 {
		return nil
	}
	o := b.Ports[at]
	if _, err := property.Write(keys.In(keys.BridgePorts, netstate.TypeLinuxBridge), &o, nil, c.After); err != nil {
		return err
	}
	if o.VLAN == nil {
		return nil
	}
	const sec = "bridge-port"
	want, have := portVLANs(o.VLAN), c.After.Dicts(sec, "vlans")
	if len(want) == 0 && len(have) > 0 {
		c.After.Drop(sec, "vlans")
	} else if len(want) > 0 && !reflect.DeepEqual(want, withoutFalse(have)) {
		c.After.Set(sec, "vlans", want)
	}
	return nil
}

// detachFrom releases the ports that a controller has now and the document leaves out of its list, and all of a
// controller that goes away. A port that the document says nothing else of stays up, without addresses.
func (p *Plan) detachFrom(i netstate.Interface, taken map[string]string) error {
	gone := i.State == netstate.StateAbsent
	have, ok := p.now.Find(i.Name, i.Type)
	if !ok || i.State == netstate.StateDown || !gone && portsOf(i) == nil || i.Type == netstate.TypeOVSBridge {
		return nil
	}
	for _, port := range portsOf(have) {
		desired, mentioned := carrierOf(p.want, port)
		if taken[port] != "" || mentioned && (desired.State == netstate.StateAbsent || desired.State == netstate.StateDown) {
			continue
		}
		c, err := p.ensureChange(netstate.Interface{Name: port})
		if err != nil {
			continue // foreign ports (of virtual machines, say) have no profile to change
		}
		if profile.Value[string](c.After, "connection", "master") == "" &&
			profile.Value[string](c.After, "connection", "controller") == "" {
			continue
		}
		releasePort(c)
	}
	return nil
}

// followControllers activates the ports of a controller that is made anew: they go down with the old one, and so do the
// interfaces of a port of Open vSwitch.
func (p *Plan) followControllers() {
	var queue []*Change
	for _, c := range p.Changes {
		if c.Fresh && c.Action == ActUp {
			queue = append(queue, c)
		}
	}
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		for _, pr := range p.snap.Profiles {
			if pr.Generated || !c.isControllerOf(pr.Settings) {
				continue
			}
			iface := p.ifaceOf(pr)
			if iface == "" {
				continue
			}
			port := p.changeOf(pr, iface)
			if port.Action == ActUp && port.After.Controller() != "" && !port.Fresh {
				port.Fresh = true
				queue = append(queue, port)
			}
		}
	}
}

// refuseOrphans refuses what NetworkManager would: an interface of Open vSwitch that is a port of no bridge, and columns of its database
// for what is none of its ports.
func (p *Plan) refuseOrphans() error {
	for _, i := range p.want.Interfaces {
		at := slices.IndexFunc(p.Changes, func(c *Change) bool {
			return c.Action == ActUp && c.Iface == i.Name && c.Layer() == profile.LayerLink
		})
		if i.OVSDB == nil || i.Type == netstate.TypeOVSBridge || at < 0 {
			continue
		}
		if s := p.Changes[at].After; s.Kind() != profile.TypeOVSInterface && s.ControllerKind() != profile.TypeOVSPort {
			return fmt.Errorf("interface %s: ovs-db is for ports of an ovs-bridge; list it among the ports of one, or leave ovs-db out",
				i.Name)
		}
	}
	for _, c := range p.Changes {
		if c.Action == ActUp && c.After.Kind() == profile.TypeOVSInterface && c.After.Controller() == "" {
			return fmt.Errorf("interface %s: an ovs-interface is a port of an ovs-bridge; list it among the ports of one", c.Iface)
		}
	}
	return nil
}

// withoutFalse drops the flags that are off, which NetworkManager may spell out.
func withoutFalse(vlans []map[string]dbus.Variant) []map[string]dbus.Variant {
	out := make([]map[string]dbus.Variant, 0, len(vlans))
	for _, v := range vlans {
		e := map[string]dbus.Variant{}
		for k, value := range v {
			if value.Value() != false {
				e[k] = value
			}
		}
		out = append(out, e)
	}
	return out
}
