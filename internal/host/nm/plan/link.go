package plan

import (
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// editProfile brings an interface's own properties into its profile.
func (p *Plan) editProfile(c *Change, i netstate.Interface) error {
	if !c.After.Autoconnect() {
		c.After.Set("connection", "autoconnect", true)
	}
	if i.ProfileName != "" && c.After.ID() != i.ProfileName {
		c.After.Set("connection", "id", i.ProfileName)
	}
	if i.Description != nil {
		c.After.SetDescription(*i.Description)
	}
	if err := p.planKind(c, i); err != nil {
		return err
	}
	now, _ := p.carrierNow(i.Name)
	silent := profile.Value[uint32](c.After, profile.TypeEthernet, "mtu") == 0
	if i.MTU != 0 && (!silent || now.MTU != i.MTU) {
		c.After.Set(profile.TypeEthernet, "mtu", uint32(i.MTU))
	}
	mac := i.MACAddress
	if i.CopyMACFrom != "" {
		from, ok := p.carrierNow(i.CopyMACFrom)
		if !ok {
			return fmt.Errorf("there is no interface %s to copy the MAC address from", i.CopyMACFrom)
		}
		mac = from.MACAddress
	}
	if mac != "" && i.Identifier != netstate.IdentifierMAC && c.After.Kind() != profile.TypeVRF {
		if err := setMAC(c, i.Name, mac, p.now); err != nil {
			return err
		}
	}
	if i.AcceptAll != nil {
		setToggle(c.After, profile.TypeEthernet, "accept-all-mac-addresses", *i.AcceptAll, now.AcceptAll)
	}
	if i.LLDP != nil && i.LLDP.Enabled != nil {
		have := now.LLDP
		if have == nil {
			have = &netstate.LLDP{}
		}
		setToggle(c.After, "connection", "lldp", *i.LLDP.Enabled, have.Enabled)
	}
	if i.WaitIP != "" {
		waitIP(c.After, i.WaitIP)
	}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		if err := p.planIP(c, i, f); err != nil {
			return err
		}
	}
	return nil
}

// setUnless writes a value, unless the profile has it or leaves it at a default that means the same.
func setUnless[T comparable](s profile.Settings, section, key string, want, unset T) {
	have, ok := s[section][key].Value().(T)
	if !ok {
		have = unset
	}
	if have != want {
		s.Set(section, key, want)
	}
}

// setToggle writes a switch that NetworkManager may leave to its configuration (-1). A profile that leaves it there stays so where
// the interface does already what is wanted.
func setToggle(s profile.Settings, section, key string, want bool, now *bool) {
	have, says := s[section][key].Value().(int32)
	if (!says || have == -1) && now != nil && *now == want {
		return
	}
	setUnless(s, section, key, map[bool]int32{true: 1, false: 0}[want], -1)
}

// waitIP says which families must be configured before the interface counts as up.
func waitIP(s profile.Settings, which string) {
	for _, sec := range []string{"ipv4", "ipv6"} {
		may := which == "any" || !strings.Contains(which, sec)
		setUnless(s, sec, "may-fail", may, true)
	}
}
