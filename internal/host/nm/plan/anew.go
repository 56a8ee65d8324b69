package plan

import (
	"net"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
)

// keepAddressesOfAnew writes the MAC addresses that the document names and virtual links have into the profiles of those that are made
// anew: the kernel, or Open vSwitch, would choose others. A profile of a link that stays is not touched for an address that it has.
func (p *Plan) keepAddressesOfAnew() {
	for _, c := range p.Changes {
		i, asked := carrierOf(p.want, c.Iface)
		now, exists := p.carrierNow(c.Iface)
		if c.Action != ActUp || !asked || !exists || !c.isMadeAnew() {
			continue
		}
		if i.MACAddress == "" || !strings.EqualFold(i.MACAddress, now.MACAddress) {
			continue
		}
		_, says := c.After[profile.TypeEthernet]["cloned-mac-address"]
		_, saysAssigned := c.After[profile.TypeEthernet]["assigned-mac-address"]
		if hw, err := net.ParseMAC(i.MACAddress); err == nil && !says && !saysAssigned {
			c.After.Set(profile.TypeEthernet, "cloned-mac-address", []byte(hw))
		}
	}
}

// isMadeAnew says that the link goes and comes with the change. NetworkManager takes an interface of Open vSwitch out of its port and puts
// it back for nearly every change.
func (c *Change) isMadeAnew() bool {
	switch c.After.Kind() {
	case profile.TypeEthernet, profile.TypeVRF:
		return false
	case profile.TypeOVSInterface:
		return c.Before != nil && (c.Fresh || c.Edited())
	}
	return c.Before != nil && (c.Fresh || c.Recreate)
}
