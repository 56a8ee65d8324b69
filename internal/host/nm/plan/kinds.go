package plan

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// planKind brings the properties of the interface's own type into its profile.
func (p *Plan) planKind(c *Change, i netstate.Interface) error {
	if i.Identifier == netstate.IdentifierMAC {
		if err := byMAC(c, i); err != nil {
			return err
		}
	}
	if i.Veth != nil && i.Veth.Peer != "" && c.After.Kind() == profile.TypeVeth {
		setRecreating(c, profile.TypeVeth, "peer", i.Veth.Peer)
	}
	if e := i.Ethernet; e != nil {
		now, _ := p.carrierNow(i.Name)
		setEthernet(c.After, e, now.Ethernet)
	}
	if err := setVLAN(c, i.VLAN); err != nil {
		return err
	}
	if err := setMACVLAN(c, i.MACVLAN); err != nil {
		return err
	}
	if c.After.Kind() == profile.TypeOVSInterface {
		ovsColumns(c.After, i.OVSDB)
	}
	if i.Patch != nil && i.Patch.Peer != "" && profile.Value[string](c.After, profile.SectionOVSPatch, "peer") != i.Patch.Peer {
		c.After.Set(profile.SectionOVSPatch, "peer", i.Patch.Peer)
		c.Fresh = c.Before != nil
	}
	if i.VRF != nil && i.VRF.RouteTableID != 0 {
		setRecreating(c, profile.TypeVRF, "table", uint32(i.VRF.RouteTableID))
	}
	if i.Bond != nil {
		setBond(c, i.Bond)
	}
	if i.Bridge != nil && i.Type == netstate.TypeLinuxBridge {
		return p.linuxBridge(c, i)
	}
	return nil
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

// setRecreating writes a property that the kernel fixes when the link is made.
func setRecreating[T comparable](c *Change, section, key string, want T) {
	if profile.Value[T](c.After, section, key) == want {
		return
	}
	c.After.Set(section, key, want)
	if c.Before != nil {
		c.Fresh, c.Recreate = true, true
	}
}

// setEthernet leaves a profile alone that is silent where the card does already what is wanted.
func setEthernet(s profile.Settings, e, now *netstate.Ethernet) {
	const sec = profile.TypeEthernet
	if now == nil {
		now = &netstate.Ethernet{}
	}
	silent := profile.Value[uint32](s, sec, "speed") == 0 && profile.Value[string](s, sec, "duplex") == "" &&
		!profile.Value[bool](s, sec, "auto-negotiate")
	if silent && len(tree.Missing(*e, *now)) == 0 {
		return
	}
	if e.AutoNegotiation != nil {
		setUnless(s, sec, "auto-negotiate", *e.AutoNegotiation, false)
	}
	if e.Speed != 0 {
		setUnless(s, sec, "speed", uint32(e.Speed), 0)
	}
	if e.Duplex != "" {
		setUnless(s, sec, "duplex", e.Duplex, "")
	}
}

// Flags of a VLAN.
const (
	vlanReorder uint32 = 1
	vlanGVRP    uint32 = 2
	vlanLoose   uint32 = 4
	vlanMVRP    uint32 = 8
)

func setVLAN(c *Change, v *netstate.VLAN) error {
	if v == nil {
		return nil
	}
	setRecreating(c, profile.TypeVLAN, "id", uint32(v.ID))
	if v.BaseIface != "" {
		setRecreating(c, profile.TypeVLAN, "parent", v.BaseIface)
	}
	if v.Protocol != "" {
		vlanProtocol(c, v.Protocol)
	}
	flags, known := c.After[profile.TypeVLAN]["flags"].Value().(uint32)
	if !known {
		flags = vlanReorder // the kernel's own default
	}
	next := flags
	set := func(on *bool, bit uint32) {
		if on != nil && *on {
			next |= bit
		} else if on != nil {
			next &^= bit
		}
	}
	set(v.ReorderHeaders, vlanReorder)
	set(v.LooseBinding, vlanLoose)
	switch v.RegistrationProtocol {
	case "gvrp":
		next = next&^vlanMVRP | vlanGVRP
	case "mvrp":
		next = next&^vlanGVRP | vlanMVRP
	case "none":
		next &^= vlanGVRP | vlanMVRP
	case "":
	default:
		return fmt.Errorf("registration-protocol %q is none of gvrp, mvrp, none", v.RegistrationProtocol)
	}
	if next != flags || c.Before == nil {
		c.After.Set(profile.TypeVLAN, "flags", next)
	}
	return nil
}

// vlanProtocols are NetworkManager's spellings.
var vlanProtocols = map[string]string{"802.1q": "802.1Q", "802.1ad": "802.1ad"}

func vlanProtocol(c *Change, want string) {
	name := vlanProtocols[strings.ToLower(want)]
	if have := profile.Value[string](c.After, profile.TypeVLAN, "protocol"); have != "" || name != "802.1Q" {
		setRecreating(c, profile.TypeVLAN, "protocol", name)
	}
}

// macVLANModes are NetworkManager's numbers of the modes.
var macVLANModes = map[string]uint32{"vepa": 1, "bridge": 2, "private": 3, "passthru": 4}

func setMACVLAN(c *Change, m *netstate.MACVLAN) error {
	if m == nil {
		return nil
	}
	if m.BaseIface != "" {
		setRecreating(c, profile.TypeMACVLAN, "parent", m.BaseIface)
	}
	if m.Mode != "" {
		mode, ok := macVLANModes[m.Mode]
		if !ok {
			return fmt.Errorf("mac-vlan.mode %q: NetworkManager makes vepa, bridge, private and passthru; give one of these", m.Mode)
		}
		setRecreating(c, profile.TypeMACVLAN, "mode", mode)
	}
	if m.Promiscuous != nil {
		setUnless(c.After, profile.TypeMACVLAN, "promiscuous", *m.Promiscuous, true)
	}
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
		next[k] = v
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

// linuxBridge brings in the options, and filters VLANs where a port says so.
func (p *Plan) linuxBridge(c *Change, i netstate.Interface) error {
	if o := i.Bridge.Options; o != nil {
		now, _ := p.carrierNow(i.Name)
		if err := bridgeOptions(c.After, o, now); err != nil {
			return err
		}
	}
	filtered := false
	for _, port := range i.Bridge.Ports {
		filtered = filtered || port.VLAN != nil && port.VLAN.Mode != ""
	}
	if i.Bridge.Ports != nil &&
		(filtered || profile.Value[bool](c.After, profile.TypeBridge, "vlan-filtering") && allDropped(i.Bridge.Ports)) {
		setUnless(c.After, profile.TypeBridge, "vlan-filtering", filtered, false)
	}
	return nil
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

// bridgeOptions leaves a profile alone that is silent where the bridge does already what is wanted: its own defaults are the
// kernel's, which differ.
func bridgeOptions(s profile.Settings, o *netstate.BridgeOptions, now netstate.Interface) error {
	const sec = profile.TypeBridge
	have := &netstate.BridgeOptions{}
	if now.Bridge != nil && now.Bridge.Options != nil {
		have = now.Bridge.Options
	}
	setBridgeValues(s, o, have)
	if o.STP != nil {
		bridgeSTP(s, o.STP)
	}
	if o.MulticastRouter != "" {
		setUnless(s, sec, "multicast-router", netstate.MulticastRouter(o.MulticastRouter), "auto")
	}
	if o.VLANProtocol != "" {
		setUnless(s, sec, "vlan-protocol", vlanProtocols[strings.ToLower(o.VLANProtocol)], "802.1Q")
	}
	_, says := s[sec]["group-address"]
	if o.GroupAddr == "" || !says && strings.EqualFold(o.GroupAddr, have.GroupAddr) {
		return nil
	}
	hw, err := net.ParseMAC(o.GroupAddr)
	if err != nil {
		return fmt.Errorf("group-addr %q: %w", o.GroupAddr, err)
	}
	if string(profile.Value[[]byte](s, sec, "group-address")) != string(hw) {
		s.Set(sec, "group-address", []byte(hw))
	}
	return nil
}

// setBridgeValues sets the options that are numbers or switches.
func setBridgeValues(s profile.Settings, o, have *netstate.BridgeOptions) {
	const sec = profile.TypeBridge
	silent := func(key string) bool { _, says := s[sec][key]; return !says }
	number := func(key string, v, is *int, unset uint32) {
		if v != nil && silent(key) && is != nil {
			unset = uint32(*is)
		}
		if v != nil {
			setUnless(s, sec, key, uint32(*v), unset)
		}
	}
	wide := func(key string, v, is *int, unset uint64) {
		if v != nil && silent(key) && is != nil {
			unset = uint64(*is)
		}
		if v != nil {
			setUnless(s, sec, key, uint64(*v), unset)
		}
	}
	flag := func(key string, v, is *bool, unset bool) {
		if v != nil && silent(key) && is != nil {
			unset = *is
		}
		if v != nil {
			setUnless(s, sec, key, *v, unset)
		}
	}
	number("group-forward-mask", o.GroupForwardMask, have.GroupForwardMask, 0)
	number("multicast-hash-max", o.HashMax, have.HashMax, 4096)
	number("ageing-time", o.MACAgeingTime, have.MACAgeingTime, 300)
	number("multicast-last-member-count", o.MulticastLastMemberCount, have.MulticastLastMemberCount, 2)
	wide("multicast-last-member-interval", o.MulticastLastMemberInterval, have.MulticastLastMemberInterval, 100)
	wide("multicast-membership-interval", o.MulticastMembershipInterval, have.MulticastMembershipInterval, 26000)
	flag("multicast-querier", o.MulticastQuerier, have.MulticastQuerier, false)
	wide("multicast-querier-interval", o.MulticastQuerierInterval, have.MulticastQuerierInterval, 25500)
	wide("multicast-query-interval", o.MulticastQueryInterval, have.MulticastQueryInterval, 12500)
	wide("multicast-query-response-interval", o.MulticastQueryResponse, have.MulticastQueryResponse, 1000)
	flag("multicast-query-use-ifaddr", o.MulticastQueryUseIfaddr, have.MulticastQueryUseIfaddr, false)
	flag("multicast-snooping", o.MulticastSnooping, have.MulticastSnooping, true)
	number("multicast-startup-query-count", o.MulticastStartupCount, have.MulticastStartupCount, 2)
	wide("multicast-startup-query-interval", o.MulticastStartupInterval, have.MulticastStartupInterval, 3125)
	number("vlan-default-pvid", o.VLANDefaultPVID, have.VLANDefaultPVID, 1)
}

func bridgeSTP(s profile.Settings, o *netstate.STP) {
	const sec = profile.TypeBridge
	if o.Enabled != nil {
		setUnless(s, sec, "stp", *o.Enabled, true)
	}
	number := func(key string, v *int, unset uint32) {
		if v != nil {
			setUnless(s, sec, key, uint32(*v), unset)
		}
	}
	number("forward-delay", o.ForwardDelay, 15)
	number("hello-time", o.HelloTime, 2)
	number("max-age", o.MaxAge, 20)
	number("priority", o.Priority, 0x8000)
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
