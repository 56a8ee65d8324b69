package netstate

import (
	"reflect"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// bridgePorts compares the list of a bridge, if there is one.
func (c *comparison) bridgePorts(want, got Interface) {
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
			c.add(got.Name, want.path("bridge.port["+p.Name+"]"), p.Name, "nothing", "bridge %s has no port %s", want.Name, p.Name)
			continue
		}
		c.bridgePort(want, p, have[n], pvid)
	}
	if want.Bridge.Ports != nil && want.Type == TypeLinuxBridge {
		c.unlisted(want, have)
	}
}

func (c *comparison) bridgePort(want Interface, p, have BridgePort, pvid int) {
	filter := p.VLAN != nil && !sameFilter(p.VLAN, have.VLAN, pvid)
	if p.VLAN != nil {
		p.VLAN, have.VLAN = new(p.VLAN.beside(pvid)), new(have.VLAN.beside(pvid))
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
		c.add(want.Name, want.path("bridge.port["+p.Name+"]."+m.Path), m.Want, m.Got, "port %s of bridge %s has %s %s, not %s",
			p.Name, want.Name, m.Path, m.Got, m.Want)
	}
}

// unlisted names the ports that the document would release. Those that NetworkManager does not manage, and those of a type
// that no document configures, belong to containers and virtual machines.
func (c *comparison) unlisted(want Interface, have []BridgePort) {
	for _, h := range have {
		i, known := carrier(c.got, h.Name)
		ours := known && i.State != StateIgnore && i.Type != "" && slices.Contains(knownTypes, i.Type)
		if ours && !slices.ContainsFunc(want.Bridge.Ports, func(p BridgePort) bool { return p.Name == h.Name }) {
			c.add(want.Name, want.path("bridge.port"), "nothing", h.Name, "bridge %s has port %s, which the document does not list",
				want.Name, h.Name)
		}
	}
}
