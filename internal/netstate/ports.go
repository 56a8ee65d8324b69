package netstate

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/topo"
)

// Ports are the names of the links that the interface controls. An Open vSwitch bond inside a bridge counts by its
// members.
func (i Interface) Ports() []string {
	switch {
	case i.Bond != nil:
		return i.Bond.Ports
	case i.VRF != nil:
		return i.VRF.Ports
	case i.Bridge == nil:
		return nil
	}
	var out []string
	for _, p := range i.Bridge.Ports {
		if p.Bond == nil {
			out = append(out, p.Name)
			continue
		}
		for _, member := range p.Bond.Ports {
			out = append(out, member.Name)
		}
	}
	return out
}

// OptionPrimary is the option of a bond that an empty value takes away.
const OptionPrimary = "primary"

// withoutEmptied is a configured bond: an option without a value is not configured.
func (b *Bond) withoutEmptied() *Bond {
	if value, says := b.Options[OptionPrimary]; !says || value != "" {
		return b
	}
	out := *b
	out.Options = maps.Clone(b.Options)
	delete(out.Options, OptionPrimary)
	return &out
}

// clearLostPrimary is the order to take the primary port of a bond away, where one state of it has one and the next has not.
func (b *Bond) clearLostPrimary(have, want *Bond) *Bond {
	if have == nil || want == nil || have.Mode != want.Mode || have.Options[OptionPrimary] == "" || want.Options[OptionPrimary] != "" {
		return b
	}
	var out Bond
	if b != nil {
		out = *b
	}
	out.Options = maps.Clone(out.Options)
	if out.Options == nil {
		out.Options = Options{}
	}
	out.Options[OptionPrimary] = ""
	return &out
}

// MeansSwitch says that an entry without a type is for a bridge of Open vSwitch, which may share its name with an interface of its own:
// nothing else has the name, or the entry says something of a bridge.
func (i Interface) MeansSwitch(now Document) bool {
	if i.Type != "" {
		return false
	}
	if _, exists := now.Find(i.Name, TypeOVSBridge); !exists {
		return false
	}
	other, shared := findCarrier(now, i.Name)
	return !shared || i.Bridge != nil && other.Type != TypeLinuxBridge
}

func (i Interface) canHavePorts() bool {
	return slices.Contains([]string{TypeBond, TypeVRF, TypeLinuxBridge, TypeOVSBridge}, i.Type)
}

// Base is the link that the interface rests on; empty for none.
func (i Interface) Base() string {
	switch {
	case i.VLAN != nil:
		return i.VLAN.BaseIface
	case i.MACVLAN != nil:
		return i.MACVLAN.BaseIface
	case i.MACVTAP != nil:
		return i.MACVTAP.BaseIface
	case i.VXLAN != nil:
		return i.VXLAN.BaseIface
	case i.MACSec != nil:
		return i.MACSec.BaseIface
	case i.IPVLAN != nil:
		return i.IPVLAN.BaseIface
	}
	return ""
}

func (i Interface) withPort(name string) Interface {
	switch i.Type {
	case TypeBond:
		b := Bond{}
		if i.Bond != nil {
			b = *i.Bond
		}
		b.Ports = append(slices.Clone(b.Ports), name)
		i.Bond = &b
	case TypeVRF:
		v := VRF{}
		if i.VRF != nil {
			v = *i.VRF
		}
		v.Ports = append(slices.Clone(v.Ports), name)
		i.VRF = &v
	default:
		b := Bridge{}
		if i.Bridge != nil {
			b = *i.Bridge
		}
		b.Ports = append(slices.Clone(b.Ports), BridgePort{Name: name})
		i.Bridge = &b
	}
	return i
}

func (i Interface) withoutPort(name string) Interface {
	is := func(p string) bool { return p == name }
	switch {
	case i.Bond != nil:
		b := *i.Bond
		b.Ports = slices.DeleteFunc(slices.Clone(b.Ports), is)
		b.PortsConfig = slices.DeleteFunc(slices.Clone(b.PortsConfig), func(m BondMember) bool { return m.Name == name })
		i.Bond = &b
	case i.VRF != nil:
		v := *i.VRF
		v.Ports = slices.DeleteFunc(slices.Clone(v.Ports), is)
		i.VRF = &v
	case i.Bridge != nil:
		b := *i.Bridge
		b.Ports = slices.DeleteFunc(slices.Clone(b.Ports), func(p BridgePort) bool { return p.Name == name })
		i.Bridge = &b
	}
	return i
}

// Order gives the interfaces so that each comes after those it needs: a port after its controller, a VLAN or mac-vlan
// after its base. Among equals the given order stays. It is the order in which they come up. Interfaces that need
// each other fail with *topo.CycleError.
func Order(all []Interface) ([]Interface, error) {
	byKey, names, needs := map[string][]Interface{}, []string{}, map[string][]string{}
	for _, i := range all {
		key := nameKey(i)
		if _, twice := byKey[key]; !twice {
			names = append(names, key)
		}
		byKey[key] = append(byKey[key], i)
	}
	for _, i := range all {
		if base := i.Base(); base != "" {
			needs[nameKey(i)] = append(needs[nameKey(i)], base)
		}
		for _, p := range i.Ports() {
			needs[p] = append(needs[p], nameKey(i))
		}
		if c := textOf(i.Controller); c != "" {
			key := c
			if _, bridge := byKey["ovs-bridge/"+c]; bridge {
				key = "ovs-bridge/" + c
			}
			needs[nameKey(i)] = append(needs[nameKey(i)], key)
		}
	}
	sorted, err := topo.Sort(names, func(n string) []string { return needs[n] })
	if err != nil {
		return nil, err
	}
	out := make([]Interface, 0, len(all))
	for _, key := range sorted {
		out = append(out, byKey[key]...)
	}
	return out, nil
}

// Canonical is the filter in the one form that equal filters share: neighbouring tags joined to ranges, and a trunk that
// says whether it has a native VLAN.
func (v *PortVLAN) Canonical() *PortVLAN {
	if v == nil {
		return nil
	}
	out := *v
	switch v.Mode {
	case "access":
		out.EnableNative, out.TrunkTags = nil, nil
	case "trunk":
		out.EnableNative, out.TrunkTags = new(isTrue(v.EnableNative)), joinTags(v.TrunkTags)
		if v.Tag != nil && *v.Tag == 0 {
			out.Tag = nil // VLAN 0 is none
		}
	}
	return &out
}

// joinTags sorts tags and joins neighbours; a list with a tag that is none stays as it is, for the validation to name.
func joinTags(tags []TrunkTag) []TrunkTag {
	var spans []IDRange
	for _, t := range tags {
		low, high, err := t.vlanRange()
		if err != nil {
			return tags
		}
		spans = append(spans, IDRange{low, high})
	}
	slices.SortFunc(spans, func(a, b IDRange) int { return cmp.Compare(a.Min, b.Min) })
	var merged []IDRange
	for _, s := range spans {
		if n := len(merged) - 1; n >= 0 && s.Min <= merged[n].Max+1 {
			merged[n].Max = max(merged[n].Max, s.Max)
			continue
		}
		merged = append(merged, s)
	}
	var out []TrunkTag
	for _, s := range merged {
		if s.Min == s.Max {
			out = append(out, TrunkTag{ID: new(s.Min)})
		} else {
			out = append(out, TrunkTag{Range: new(s)})
		}
	}
	return out
}

// asObserved is the filter as it is observed on a bridge with that default VLAN, of which a port is a member without any filter.
// An empty filter stands for that.
func (v *PortVLAN) asObserved(defaultPVID int) PortVLAN {
	if v == nil {
		return PortVLAN{}
	}
	out := *v.Canonical()
	if defaultPVID == 0 || v.Tag == nil || *v.Tag != defaultPVID {
		return out
	}
	if v.Mode == "access" {
		return PortVLAN{}
	}
	out.Tag, out.EnableNative = nil, new(false)
	return out
}

func sameFilter(a, b *PortVLAN, defaultPVID int) bool {
	return reflect.DeepEqual(a.asObserved(defaultPVID), b.asObserved(defaultPVID))
}

// defaultPVID is the VLAN in which the bridge puts its ports by itself; 0 for none. The kernel's own default is 1.
func (i Interface) defaultPVID() int {
	switch {
	case i.Type != TypeLinuxBridge:
		return 0
	case i.Bridge != nil && i.Bridge.Options != nil && i.Bridge.Options.VLANDefaultPVID != nil:
		return *i.Bridge.Options.VLANDefaultPVID
	}
	return 1
}

// withFiltersOf is a bridge that spells the filters of its ports as another state of it does, where both mean the same.
func (i Interface) withFiltersOf(have Interface) Interface {
	if i.Bridge == nil || have.Bridge == nil {
		return i
	}
	b := *i.Bridge
	b.Ports = slices.Clone(b.Ports)
	for n, p := range b.Ports {
		h := slices.IndexFunc(have.Bridge.Ports, func(h BridgePort) bool { return h.Name == p.Name })
		if h >= 0 && sameFilter(p.VLAN, have.Bridge.Ports[h].VLAN, i.defaultPVID()) {
			b.Ports[n].VLAN = have.Bridge.Ports[h].VLAN
		}
	}
	i.Bridge = &b
	return i
}
