package plan

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// edit brings an interface's own properties into its profile.
func (p *Plan) edit(c *Change, i netstate.Interface) error {
	if !c.After.Autoconnect() {
		c.After.Set("connection", "autoconnect", true)
	}
	if err := p.vlan(c, i); err != nil {
		return err
	}
	now, _ := p.carrier(i.Name)
	silent := profile.Value[uint32](c.After, mtuSection(c.After.Kind()), "mtu") == 0
	if i.MTU != 0 && (!silent || now.MTU != i.MTU) {
		c.After.Set(mtuSection(c.After.Kind()), "mtu", uint32(i.MTU))
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

func (p *Plan) vlan(c *Change, i netstate.Interface) error {
	if i.VLAN == nil {
		return nil
	}
	if profile.Value[uint32](c.After, profile.TypeVLAN, "id") != uint32(i.VLAN.ID) {
		c.After.Set(profile.TypeVLAN, "id", uint32(i.VLAN.ID))
		c.Fresh = true
	}
	if i.VLAN.BaseIface != "" && profile.Value[string](c.After, profile.TypeVLAN, "parent") != i.VLAN.BaseIface {
		c.After.Set(profile.TypeVLAN, "parent", i.VLAN.BaseIface)
		c.Fresh = true
	}
	if c.Before == nil {
		c.After.Set(profile.TypeVLAN, "flags", uint32(1)) // reorder headers: the kernel's own default
	}
	return nil
}

// mtuSection is where a profile of the kind keeps the MTU.
func mtuSection(kind string) string {
	switch kind {
	case profile.TypeOVSInterface:
		return profile.TypeOVSInterface
	default:
		return profile.TypeEthernet
	}
}
