package plan

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/property"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// planIP brings one family's configuration into the profile. A family the document
// does not mention stays as it is, and so do addresses where it lists none.
func (p *Plan) planIP(c *Change, i netstate.Interface, f netstate.Family) error {
	ip := withoutLinkLocal(f.Of(i), c.After)
	sec := profile.Section(f)
	switch {
	case ip == nil:
		return nil
	case c.After.Kind() == profile.TypeLoopback:
		return setLoopback(c.After, ip, f)
	case ip.Off():
		disableFamily(c.After, sec)
		return nil
	case ip.Auto():
		now, _ := p.carrierNow(i.Name)
		if err := setAutomatic(c.After, ip, f, f.Of(now)); err != nil {
			return err
		}
		return addressing(c.After, ip, f)
	case ip.DHCP == nil && ip.Autoconf == nil && ip.Addresses == nil:
		if err := p.justEnabled(c, f); err != nil {
			return err
		}
		return addressing(c.After, ip, f)
	}
	if err := p.setStatic(c, i.Name, ip, f); err != nil {
		return err
	}
	return addressing(c.After, ip, f)
}

func disableFamily(s profile.Settings, sec string) {
	if profile.Value[string](s, sec, "method") == "disabled" {
		return
	}
	s.Set(sec, "method", "disabled")
	// None of these may stand beside the method "disabled".
	s.Drop(sec, "address-data", "route-data", "gateway", "dns-data", "dns-search", "dns-options")
	// These would change what a later document brings.
	s.Drop(sec, "route-table", "route-metric", "never-default", "ignore-auto-dns", "ignore-auto-routes")
	dropPatience(s, sec)
}

// withoutLinkLocal leaves out link-local IPv6 addresses, as nmstate does: the kernel assigns them, and every state that is shown
// lists them. One that the profile has already stays.
func withoutLinkLocal(ip *netstate.IP, s profile.Settings) *netstate.IP {
	if ip == nil || ip.Addresses == nil {
		return ip
	}
	configured := s.Dicts("ipv6", "address-data")
	out := *ip
	out.Addresses = slices.DeleteFunc(slices.Clone(ip.Addresses), func(a netstate.Address) bool {
		p, _ := a.Prefix() // one that is none is refused elsewhere
		return a.LinkLocal() &&
			!slices.ContainsFunc(configured, func(e map[string]dbus.Variant) bool { return profile.SameAddress(e, p) })
	})
	return &out
}

// justEnabled handles "enabled: true" with nothing else: whatever is configured stays.
func (p *Plan) justEnabled(c *Change, f netstate.Family) error {
	if m := profile.Value[string](c.After, profile.Section(f), "method"); m != "disabled" && m != "ignore" && m != "" {
		return nil
	}
	if f == netstate.IPv6 {
		c.After.Set("ipv6", "method", "link-local")
	}
	return nil // IPv4 without an address is the same as none
}

// setStatic gives the profile fixed addresses: those listed, those it has, or, when DHCP is
// turned off without a list, those it was leased.
func (p *Plan) setStatic(c *Change, iface string, ip *netstate.IP, f netstate.Family) error {
	sec := profile.Section(f)
	wanted, err := ip.Prefixes()
	if err != nil {
		return err
	}
	if ip.Addresses == nil && profile.Value[string](c.After, sec, "method") == "manual" {
		return nil
	}
	if ip.Addresses == nil {
		now, _ := p.carrierNow(iface)
		if wanted, err = f.Of(now).Prefixes(); err != nil {
			return err
		}
	}
	if len(wanted) == 0 && f == netstate.IPv4 {
		disableFamily(c.After, sec)
		return nil
	}
	method := "manual"
	if len(wanted) == 0 {
		method = "link-local"
		c.After.Drop(sec, "gateway")
	}
	if was := profile.Value[string](c.After, sec, "method"); was != method {
		if was == "auto" || was == "dhcp" {
			// They were for the routes and servers of the network.
			c.After.Drop(sec, "route-table", "ignore-auto-dns", "ignore-auto-routes")
			dropPatience(c.After, sec)
		}
		c.After.Set(sec, "method", method)
	}
	if sec == "ipv4" && c.Before != nil && staysBehind(c.Before.Settings.Dicts(sec, "address-data"), wanted) {
		c.Fresh = true
	}
	setAddresses(c.After, sec, wanted)
	return nil
}

// staysBehind says that the first address would come after one that stays: the kernel orders addresses of IPv4 by their age, and
// other programs take the first for the node's own. In place NetworkManager adds it at the end.
func staysBehind(have []map[string]dbus.Variant, wanted []netip.Prefix) bool {
	if len(wanted) < 2 || len(have) == 0 || profile.SameAddress(have[0], wanted[0]) {
		return false
	}
	return slices.ContainsFunc(have, func(h map[string]dbus.Variant) bool {
		return slices.ContainsFunc(wanted[1:], func(w netip.Prefix) bool { return profile.SameAddress(h, w) })
	})
}

// carrierNow is the interface as it is now, the one with addresses where two share the name.
func (p *Plan) carrierNow(name string) (netstate.Interface, bool) {
	for _, i := range p.now.Interfaces {
		if i.Name == name && i.Type != netstate.TypeOVSBridge {
			return i, true
		}
	}
	return netstate.Interface{}, false
}

// setAddresses replaces the list, and keeps labels and the like of addresses that stay.
func setAddresses(s profile.Settings, sec string, wanted []netip.Prefix) {
	have := s.Dicts(sec, "address-data")
	var out []map[string]dbus.Variant
	changed := len(have) != len(wanted)
	for n, w := range wanted {
		entry := map[string]dbus.Variant{
			"address": dbus.MakeVariant(w.Addr().String()),
			"prefix":  dbus.MakeVariant(uint32(w.Bits())),
		}
		for m, h := range have {
			if profile.SameAddress(h, w) {
				entry = h
				changed = changed || m != n
			}
		}
		changed = changed || n >= len(have) || !profile.SameAddress(have[n], w)
		out = append(out, entry)
	}
	if !changed {
		return
	}
	if len(out) == 0 {
		s.Drop(sec, "address-data")
		return
	}
	s.Set(sec, "address-data", out)
}

// setMAC gives the interface another hardware address than it was born with.
func setMAC(c *Change, name, mac string, now netstate.Document) error {
	if have, ok := now.Find(name, ""); ok && strings.EqualFold(have.MACAddress, mac) {
		return nil
	}
	hw, err := net.ParseMAC(mac)
	if err != nil {
		return fmt.Errorf("MAC address %q: %w", mac, err)
	}
	sec := profile.TypeEthernet
	c.After.Set(sec, "cloned-mac-address", []byte(hw))
	c.After.Drop(sec, "assigned-mac-address")
	c.Fresh = true
	return nil
}

// addressing brings in what the document says of how the family gets its addresses; what it leaves out stays.
func addressing(s profile.Settings, ip *netstate.IP, f netstate.Family) error {
	want := *ip
	want.AddrGenMode = ip.ImpliedGenMode()
	if ip.Token != nil {
		if a, err := netip.ParseAddr(*ip.Token); err == nil && a.IsUnspecified() {
			want.Token = new("") // none
		}
	}
	part := map[netstate.Family]string{netstate.IPv4: keys.IPv4, netstate.IPv6: keys.IPv6}[f]
	rows := keys.In(part, "")
	if method := profile.Value[string](s, profile.Section(f), "method"); method != "auto" && method != "dhcp" {
		rows = slices.DeleteFunc(rows, func(r keys.Row) bool { return r.Property.Automatic })
	}
	_, err := property.Write(rows, &want, nil, s)
	return err
}
