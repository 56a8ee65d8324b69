package netstate

import (
	"cmp"
	"reflect"
	"slices"
)

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
		out.EnableNative, out.TrunkTags = new(isTrue(v.EnableNative)), joined(v.TrunkTags)
	}
	return &out
}

// joined sorts tags and joins neighbours; a list with a tag that is none stays as it is, for the validation to name.
func joined(tags []TrunkTag) []TrunkTag {
	var spans []IDRange
	for _, t := range tags {
		low, high, err := t.bounds()
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

// beside is the filter as it is observed on a bridge with that default VLAN, of which a port is a member without any filter.
// An empty filter stands for that.
func (v *PortVLAN) beside(defaultPVID int) PortVLAN {
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
	return reflect.DeepEqual(a.beside(defaultPVID), b.beside(defaultPVID))
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
