package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/property"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// planKind brings the properties of the interface's own type into its profile.
func (p *Plan) planKind(c *Change, i netstate.Interface) error {
	if i.Identifier == netstate.IdentifierMAC {
		if err := byMAC(c, i); err != nil {
			return err
		}
	}
	if i.Dot1X != nil {
		dropUnsaid(c.After, i)
	}
	if err := p.planProperties(c, i); err != nil {
		return err
	}
	if c.After.Kind() == profile.TypeOVSInterface || c.After.ControllerKind() == profile.TypeOVSPort {
		ovsColumns(c.After, i.OVSDB)
	}
	if i.Ethtool != nil {
		if err := p.planEthtool(c, i); err != nil {
			return err
		}
	}
	if i.Bond != nil {
		setBond(c, i.Bond)
	}
	if i.Bridge != nil && i.Type == netstate.TypeLinuxBridge {
		if err := p.refuseIdlePVID(i); err != nil {
			return err
		}
		filterVLANs(c.After, i.Bridge.Ports)
	}
	return nil
}

// refuseIdlePVID refuses another default VLAN for a bridge that filters none: it has no effect.
func (p *Plan) refuseIdlePVID(i netstate.Interface) error {
	if i.Bridge.Options == nil || i.Bridge.Options.VLANDefaultPVID == nil || *i.Bridge.Options.VLANDefaultPVID == 1 {
		return nil
	}
	now, _ := p.now.Find(i.Name, netstate.TypeLinuxBridge)
	if o := now.Bridge; o != nil && o.Options != nil && o.Options.VLANDefaultPVID != nil &&
		*o.Options.VLANDefaultPVID == *i.Bridge.Options.VLANDefaultPVID {
		return nil
	}
	merged := netstate.MergeInterface(now, i)
	if slices.ContainsFunc(merged.Bridge.Ports, func(b netstate.BridgePort) bool { return b.VLAN != nil && b.VLAN.Mode != "" }) {
		return nil
	}
	return errors.New("bridge.options.vlan-default-pvid: the bridge filters no VLANs, so that it has no effect; give a port a vlan, " +
		"or leave it out")
}

// planProperties brings in the keys that a single property holds.
func (p *Plan) planProperties(c *Change, i netstate.Interface) error {
	if c.After.Kind() != profile.TypeVeth {
		i.Veth = nil // the end of a pair that was made by another program is a card
	}
	now, _ := p.carrierNow(i.Name)
	needs, err := property.Write(keys.In(keys.Links, i.Type), &i, &now, c.After)
	if err != nil {
		return err
	}
	if c.Before != nil && needs != keys.InPlace {
		c.Fresh = true
		c.Recreate = c.Recreate || needs == keys.Made
	}
	return nil
}

// dropUnsaid takes away what a profile says of 802.1X and the document does not: a document gives all of it.
func dropUnsaid(s profile.Settings, i netstate.Interface) {
	if i.Dot1X.IsEmpty() {
		delete(s, profile.Section8021X)
		return
	}
	for _, r := range keys.In(keys.Links, i.Type) {
		if r.Property.Setting != profile.Section8021X {
			continue
		}
		if field, says := tree.At(&i, r.Path, false); !says || field.IsZero() {
			s.Drop(profile.Section8021X, r.Property.Name)
		}
	}
}

// byMAC binds the profile to the card and not to its name.
func byMAC(c *Change, i netstate.Interface) error {
	hw, err := net.ParseMAC(i.MACAddress)
	if err != nil {
		return fmt.Errorf("MAC address %q: %w", i.MACAddress, err)
	}
	have := profile.Value[[]byte](c.After, profile.TypeEthernet, "mac-address")
	if string(have) != string(hw) {
		c.After.Set(profile.TypeEthernet, "mac-address", []byte(hw))
	}
	c.After.Drop("connection", "interface-name")
	return nil
}

// setBond replaces the options where the mode changes, because few survive in another mode, and merges them otherwise.
func setBond(c *Change, b *netstate.Bond) {
	have := profile.Value[map[string]string](c.After, profile.TypeBond, "options")
	next := maps.Clone(have)
	if next == nil {
		next = map[string]string{}
	}
	if mode := b.Mode; mode != "" && bondMode(next["mode"]) != bondMode(mode) {
		next = map[string]string{"mode": mode}
		if c.Before != nil {
			c.Fresh, c.Recreate = true, true
		}
	}
	for k, v := range b.Options {
		if word := netstate.CanonicalBondOption(k, v); netstate.CanonicalBondOption(k, have[k]) != word {
			next[k] = word // NetworkManager knows the numbers of switches and the names of the rest
		}
		if v == "" { // NetworkManager takes no empty value; what is left out has none
			delete(next, k)
		}
	}
	if !maps.Equal(have, next) {
		c.After.Set(profile.TypeBond, "options", next)
	}
}

// ClearedPrimaries are the primary ports that the document takes away from bonds, by bond, before and after.
func ClearedPrimaries(want, now netstate.Document) (before, after map[string]string) {
	for _, i := range want.Interfaces {
		have, _ := now.Find(i.Name, netstate.TypeBond)
		if i.Bond == nil || have.Bond == nil || have.Bond.Options[netstate.OptionPrimary] == "" {
			continue
		}
		if to, says := i.Bond.Options[netstate.OptionPrimary]; !says || to != "" {
			continue
		}
		if before == nil {
			before, after = map[string]string{}, map[string]string{}
		}
		before[i.Name], after[i.Name] = have.Bond.Options[netstate.OptionPrimary], ""
	}
	return before, after
}

// bondMode is the name of a mode, which NetworkManager also takes as a number.
func bondMode(mode string) string {
	names := []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}
	if len(mode) == 1 && mode[0] >= '0' && int(mode[0]-'0') < len(names) {
		return names[mode[0]-'0']
	}
	return mode
}

// filterVLANs lets a bridge filter where a port says so.
func filterVLANs(s profile.Settings, ports []netstate.BridgePort) {
	filtered := false
	for _, port := range ports {
		filtered = filtered || port.VLAN != nil && port.VLAN.Mode != ""
	}
	if ports != nil && (filtered || profile.Value[bool](s, profile.TypeBridge, "vlan-filtering") && allDropped(ports)) {
		setUnless(s, profile.TypeBridge, "vlan-filtering", filtered, false)
	}
}

// allDropped says that every port mentions an empty VLAN filter.
func allDropped(ports []netstate.BridgePort) bool {
	for _, p := range ports {
		if p.VLAN == nil || p.VLAN.Mode != "" {
			return false
		}
	}
	return len(ports) > 0
}

// portVLANs is a port's filter in NetworkManager's form.
func portVLANs(v *netstate.PortVLAN) []map[string]dbus.Variant {
	if v == nil || v.Mode == "" {
		return nil
	}
	entry := func(from, to int, native bool) map[string]dbus.Variant {
		e := map[string]dbus.Variant{"vid-start": dbus.MakeVariant(uint16(from)), "vid-end": dbus.MakeVariant(uint16(to))}
		if native {
			e["pvid"], e["untagged"] = dbus.MakeVariant(true), dbus.MakeVariant(true)
		}
		return e
	}
	var out []map[string]dbus.Variant
	if v.Tag != nil && (v.Mode == "access" || v.EnableNative != nil && *v.EnableNative) {
		out = append(out, entry(*v.Tag, *v.Tag, true))
	}
	for _, t := range v.Canonical().TrunkTags {
		switch {
		case t.ID != nil:
			out = append(out, entry(*t.ID, *t.ID, false))
		case t.Range != nil:
			out = append(out, entry(t.Range.Min, t.Range.Max, false))
		}
	}
	slices.SortStableFunc(out, func(a, b map[string]dbus.Variant) int { // NetworkManager sorts them, too
		return cmp.Compare(profile.Get[uint16](a, "vid-start"), profile.Get[uint16](b, "vid-start"))
	})
	return out
}
