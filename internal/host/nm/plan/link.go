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

// waitIP says which families must be configured before the interface counts as up.
func waitIP(s profile.Settings, which string) {
	for _, sec := range []string{"ipv4", "ipv6"} {
		may := which == "any" || !strings.Contains(which, sec)
		setUnless(s, sec, "may-fail", may, true)
	}
}
