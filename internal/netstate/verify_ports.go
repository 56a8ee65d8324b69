package netstate

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// compareBridgePorts compares the list of a bridge, if there is one.
func (c *comparison) compareBridgePorts(want, got Interface) {
	if want.Bridge == nil {
		return
	}
	var have []BridgePort
	if got.Bridge != nil {
		have = got.Bridge.Ports
	}
	pvid := MergeInterface(got, want).defaultPVID()
	for _, p := range want.Bridge.Ports {
		n := slices.IndexFunc(have, func(h BridgePort) bool { return h.Name == p.Name })
		if n < 0 {
			c.addMismatch(got.Name, want.keyPath("bridge.port["+p.Name+"]"), p.Name, "nothing", "bridge %s has no port %s", want.Name,
				p.Name)
			continue
		}
		c.compareBridgePort(want, p, have[n], pvid)
	}
	if want.Bridge.Ports != nil && want.Type == TypeLinuxBridge {
		c.addUnlistedPorts(want, have)
	}
}

func (c *comparison) compareBridgePort(want Interface, p, have BridgePort, pvid int) {
	filter := p.VLAN != nil && !sameFilter(p.VLAN, have.VLAN, pvid)
	if p.VLAN != nil {
		p.VLAN, have.VLAN = new(p.VLAN.asObserved(pvid)), new(have.VLAN.asObserved(pvid))
	}
	if !filter {
		p.VLAN = nil
	}
	found := tree.Missing(p, have)
	if filter && len(tree.Missing(p.VLAN, have.VLAN)) == 0 { // something that is to be gone
		show := func(v *PortVLAN) string { return tree.Show(reflect.ValueOf(v)) }
		found = append(found, tree.Difference{Path: "vlan", Want: show(p.VLAN), Got: show(have.VLAN)})
	}
	for _, m := range found {
		c.addMismatch(want.Name, want.keyPath("bridge.port["+p.Name+"]."+m.Path), m.Want, m.Got, "port %s of bridge %s has %s %s, not %s",
			p.Name, want.Name, m.Path, m.Got, m.Want)
	}
}

// addUnlistedPorts names the ports that the document would release. Those that NetworkManager does not manage, and those of a type
// that no document configures, belong to containers and virtual machines.
func (c *comparison) addUnlistedPorts(want Interface, have []BridgePort) {
	for _, h := range have {
		i, known := findCarrier(c.got, h.Name)
		ours := known && i.State != StateIgnore && i.Type != "" && slices.Contains(keys.Configurable(), i.Type)
		if ours && !slices.ContainsFunc(want.Bridge.Ports, func(p BridgePort) bool { return p.Name == h.Name }) {
			c.addMismatch(want.Name, want.keyPath("bridge.port"), "nothing", h.Name,
				"bridge %s has port %s, which the document does not list",
				want.Name, h.Name)
		}
	}
}

// compareBondMembers compares the settings of ports of a bond where they are reported.
func (c *comparison) compareBondMembers(want, got Interface) {
	if want.Bond == nil || got.Bond == nil {
		return
	}
	for _, m := range want.Bond.PortsConfig {
		n := slices.IndexFunc(got.Bond.PortsConfig, func(h BondMember) bool { return h.Name == m.Name })
		if n < 0 {
			continue
		}
		c.compareBondMember(want, m.Name, "priority", m.Priority, got.Bond.PortsConfig[n].Priority)
		c.compareBondMember(want, m.Name, "queue-id", m.QueueID, got.Bond.PortsConfig[n].QueueID)
	}
}

func (c *comparison) compareBondMember(want Interface, port, key string, ask, have *int) {
	if ask == nil || have == nil || *ask == *have {
		return
	}
	c.addMismatch(want.Name, want.keyPath("link-aggregation.ports-config["+port+"]."+key), strconv.Itoa(*ask), strconv.Itoa(*have),
		"port %s of bond %s has %s %d, not %d", port, want.Name, key, *have, *ask)
	c.found[len(c.found)-1].Settled = true
}

// controllerOf is the controller that lists an interface as its port; nil for none.
func controllerOf(d Document, port string) *string {
	for _, i := range d.Interfaces {
		if i.Name != port && slices.Contains(i.Ports(), port) {
			return new(i.Name)
		}
	}
	return nil
}
