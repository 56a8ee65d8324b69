package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"
	"github.com/google/uuid"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// ovsBridge plans an Open vSwitch bridge and the ports that the document lists. NetworkManager has a profile for the bridge,
// one for each port, and one for each interface of a port: an internal one, an end of a patch, a card. Source: nm-settings(5).
// A bridge that is as the document says is accepted, whichever program made it.
func (p *Plan) ovsBridge(i netstate.Interface) error {
	if i.State == netstate.StateAbsent || i.State == netstate.StateDown {
		return p.takeBridgeDown(i)
	}
	mismatches := netstate.Verify(netstate.Document{Interfaces: []netstate.Interface{i}}, p.now)
	if len(mismatches) == 0 && len(p.droppedPorts(i)) == 0 && !emptiesColumns(i) {
		return nil
	}
	if err := p.mayChangeBridge(i); err != nil {
		return err
	}
	c := p.ensureLayerChange(profile.TypeOVSBridge, i.Name, cmp.Or(i.ProfileName, i.Name+"-br"))
	ovsColumns(c.After, i.OVSDB)
	if i.Description != nil {
		c.After.SetDescription(*i.Description)
	}
	if i.Bridge == nil {
		return nil
	}
	if i.Bridge.Options != nil {
		if err := writeOVS(keys.Links, netstate.TypeOVSBridge, &i, c.After); err != nil {
			return err
		}
		c.Fresh = c.Fresh || p.bridgeDiffers(i, &netstate.Bridge{Options: i.Bridge.Options})
	}
	for _, port := range i.Bridge.Ports {
		if err := p.ovsPort(c, i, port); err != nil {
			return fmt.Errorf("port %s: %w", port.Name, err)
		}
	}
	for _, pr := range p.droppedPorts(i) {
		p.removePort(pr, ActRemove)
	}
	return nil
}

// emptiesColumns says that the document orders all keys of a free-form column away: which those are its profile says, not the database.
func emptiesColumns(i netstate.Interface) bool {
	empties := func(o *netstate.OVSDB) bool {
		return o != nil && len(o.SpelledOut(&netstate.OVSDB{}).ExternalIDs)+len(o.SpelledOut(&netstate.OVSDB{}).OtherConfig) == 0
	}
	return empties(i.OVSDB) || i.Bridge != nil && slices.ContainsFunc(i.Bridge.Ports, func(p netstate.BridgePort) bool {
		return p.Bond != nil && empties(p.Bond.OVSDB)
	})
}

// bridgeDiffers says that a bridge that exists is not as this part of the document says.
func (p *Plan) bridgeDiffers(i netstate.Interface, part *netstate.Bridge) bool {
	if _, exists := p.now.Find(i.Name, netstate.TypeOVSBridge); !exists {
		return false
	}
	i.Bridge = part
	return len(netstate.Verify(netstate.Document{Interfaces: []netstate.Interface{i}}, p.now)) > 0
}

// mayChangeBridge refuses bridges of other programs: they would make them anew.
func (p *Plan) mayChangeBridge(i netstate.Interface) error {
	pr, ok := p.profileIn(profile.TypeOVSBridge, i.Name)
	_, exists := p.now.Find(i.Name, netstate.TypeOVSBridge)
	switch {
	case !ok && exists:
		return errors.New("the bridge was made without NetworkManager (by OVN-Kubernetes or with ovs-vsctl); change it there, " +
			"or delete it and apply the document again")
	case ok && strings.HasPrefix(pr.File, "/run/") && !isEphemeral(pr.Settings):
		return errors.New("the bridge is made anew at every boot (its profile is in memory, as configure-ovs leaves it), so the change " +
			"would not last; describe the bridge in nmstate files for that service, or use a bridge of another name")
	}
	return nil
}

// ovsPort plans a port of a bridge with its interface, or with those of the bond that it is.
func (p *Plan) ovsPort(bridge *Change, i netstate.Interface, port netstate.BridgePort) error {
	c := p.ensureLayerChange(profile.TypeOVSPort, port.Name, port.Name+"-port")
	attachBelow(c, bridge)
	if err := ovsPortOptions(c.After, port); err != nil {
		return err
	}
	have, _ := p.now.Find(i.Name, netstate.TypeOVSBridge)
	attached := have.Bridge != nil &&
		slices.ContainsFunc(have.Bridge.Ports, func(b netstate.BridgePort) bool { return b.Name == port.Name })
	c.Fresh = c.Fresh || attached && p.bridgeDiffers(i, &netstate.Bridge{Ports: []netstate.BridgePort{port}})
	if port.Bond == nil {
		return p.ovsMember(c, port.Name)
	}
	for _, m := range port.Bond.Ports {
		if err := p.ovsMember(c, m.Name); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// ovsMember puts an interface below its port.
func (p *Plan) ovsMember(port *Change, name string) error {
	desired, mentioned := carrierOf(p.want, name)
	if _, exists := carrierOf(p.now, name); !exists && !mentioned {
		return errors.New("there is no such interface")
	}
	if desired.State == netstate.StateAbsent || desired.State == netstate.StateDown {
		return fmt.Errorf("the document makes it %s", desired.State)
	}
	c, err := p.ensureChange(netstate.Interface{Name: name, Type: desired.Type, Patch: desired.Patch})
	if err != nil {
		return err
	}
	attachBelow(c, port)
	for _, section := range portSections {
		delete(c.After, section)
	}
	ovsColumns(c.After, desired.OVSDB)
	if c.After.Kind() == profile.TypeOVSInterface {
		return nil
	}
	if desired.IPv4.On() || desired.IPv6.On() {
		return errors.New("a card that is a port of an ovs-bridge cannot have addresses; disable IPv4 and IPv6 on it, " +
			"and give them to an ovs-interface")
	}
	for _, sec := range []string{"ipv4", "ipv6", "proxy"} {
		delete(c.After, sec)
	}
	return nil
}

// attachBelow names the controller by its profile: an Open vSwitch bridge shares its name with a port and an interface.
func attachBelow(c, controller *Change) {
	if !c.After.Autoconnect() {
		c.After.Set("connection", "autoconnect", true)
	}
	if controller.isControllerOf(c.After) {
		return
	}
	c.After.Set("connection", "master", controller.UUID)
	c.After.Set("connection", "slave-type", controller.After.Kind())
	c.After.Drop("connection", "controller", "port-type")
	if c.Before != nil {
		c.Fresh, c.Moved = true, c.Before.Settings.Controller() != ""
	}
}

// isControllerOf says that a profile names the change's profile as its controller.
func (c *Change) isControllerOf(s profile.Settings) bool {
	name := s.Controller()
	return name == c.UUID || name == c.Iface && name != "" && profile.LayerOf(s.ControllerKind()) == c.Layer()
}

// ensureLayerChange finds or makes the change for a bridge or a port of Open vSwitch.
func (p *Plan) ensureLayerChange(kind, name, id string) *Change {
	for _, c := range p.Changes {
		if c.Iface == name && c.Action == ActUp && c.Layer() == profile.LayerOf(kind) {
			return c
		}
	}
	if pr, ok := p.profileIn(kind, name); ok {
		c := p.changeOf(pr, name)
		if !c.After.Autoconnect() {
			c.After.Set("connection", "autoconnect", true)
		}
		return c
	}
	s := profile.Settings{kind: map[string]dbus.Variant{}}
	s.Set("connection", "id", id)
	s.Set("connection", "uuid", uuid.NewString())
	s.Set("connection", "interface-name", name)
	s.Set("connection", "autoconnect", true)
	s.Set("connection", "autoconnect-slaves", int32(1))
	s.Set("connection", "type", kind)
	c := &Change{Iface: name, UUID: s.UUID(), After: s}
	p.Changes = append(p.Changes, c)
	return c
}

// profileIn finds the profile of a bridge or a port of Open vSwitch: the active one first.
func (p *Plan) profileIn(kind, name string) (profile.Profile, bool) {
	if d, ok := p.snap.DeviceAt(profile.LayerOf(kind), name); ok && d.Active != nil {
		if pr, ok := p.snap.ByUUID(d.Active.UUID); ok && !pr.Generated {
			return pr, true
		}
	}
	var best profile.Profile
	found := false
	for _, pr := range p.snap.Profiles {
		if pr.Generated || pr.Settings.Kind() != kind || pr.Settings.Iface() != name {
			continue
		}
		if !found || bootRank(pr) > bootRank(best) {
			best, found = pr, true
		}
	}
	return best, found
}

// isEphemeral says that a profile is in memory only because one of our documents asked for it.
func isEphemeral(s profile.Settings) bool {
	return profile.Value[map[string]string](s, "user", "data")[ephemeralMark] != ""
}
