package nm

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// edit brings an interface's own properties into its profile.
func (p *planner) edit(c *change, i netstate.Interface) error {
	if !c.after.autoconnect() {
		c.after.set("connection", "autoconnect", true)
	}
	if err := p.vlan(c, i); err != nil {
		return err
	}
	now, _ := p.carrier(i.Name)
	silent := value[uint32](c.after, mtuSection(c.after.kind()), "mtu") == 0
	if i.MTU != 0 && (!silent || now.MTU != i.MTU) {
		c.after.set(mtuSection(c.after.kind()), "mtu", uint32(i.MTU))
	}
	if i.MACAddress != "" {
		if err := setMAC(c, i, p.now); err != nil {
			return err
		}
	}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		if err := p.ip(c, i, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) vlan(c *change, i netstate.Interface) error {
	if i.VLAN == nil {
		return nil
	}
	if value[uint32](c.after, typeVLAN, "id") != uint32(i.VLAN.ID) {
		c.after.set(typeVLAN, "id", uint32(i.VLAN.ID))
		c.fresh = true
	}
	if i.VLAN.BaseIface != "" && value[string](c.after, typeVLAN, "parent") != i.VLAN.BaseIface {
		c.after.set(typeVLAN, "parent", i.VLAN.BaseIface)
		c.fresh = true
	}
	if c.before == nil {
		c.after.set(typeVLAN, "flags", uint32(1)) // reorder headers: the kernel's own default
	}
	return nil
}

// mtuSection is where a profile of the kind keeps the MTU.
func mtuSection(kind string) string {
	switch kind {
	case typeOVSInterface:
		return typeOVSInterface
	default:
		return typeEthernet
	}
}
