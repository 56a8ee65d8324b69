package plan

import (
	"maps"
	"slices"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/property"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// ovsPortOptions brings the VLAN and the bond of a port into its profile. What the document does not mention stays.
func ovsPortOptions(s profile.Settings, port netstate.BridgePort) error {
	if port.VLAN != nil {
		ovsPortVLAN(s, port.VLAN)
	}
	if port.Bond != nil {
		ovsPortBond(s, port.Bond)
		ovsColumns(s, port.Bond.OVSDB)
	}
	return writeOVS(keys.BridgePorts, profile.TypeOVSPort, &port, s)
}

// writeOVS brings in the keys of a part that properties of the profile's own setting hold; other layers of the bridge have the rest.
func writeOVS(part, setting string, want any, s profile.Settings) error {
	rows := slices.DeleteFunc(keys.In(part, netstate.TypeOVSBridge), func(r keys.Row) bool { return r.Property.Setting != setting })
	_, err := property.Write(rows, want, nil, s)
	return err
}

func ovsPortVLAN(s profile.Settings, v *netstate.PortVLAN) {
	const sec = profile.TypeOVSPort
	native := v.EnableNative != nil && *v.EnableNative
	mode, tag := v.Mode, uint32(0)
	if v.Tag != nil {
		tag = uint32(*v.Tag)
	}
	if native {
		mode = "native-untagged"
	}
	setOrDrop(s, sec, "vlan-mode", mode, "")
	setOrDrop(s, sec, "tag", tag, 0)
	trunks := ovsTrunks(v.TrunkTags)
	if have := s.Dicts(sec, "trunks"); len(trunks) == 0 && len(have) > 0 {
		s.Drop(sec, "trunks")
	} else if len(trunks) > 0 && !sameVariant(dbus.MakeVariant(have), dbus.MakeVariant(trunks)) {
		s.Set(sec, "trunks", trunks)
	}
}

// setOrDrop writes a value, or drops the key where the value means that it is unset.
func setOrDrop[T comparable](s profile.Settings, section, key string, want, unset T) {
	if want == unset {
		s.Drop(section, key)
		return
	}
	setUnless(s, section, key, want, unset)
}

func ovsTrunks(tags []netstate.TrunkTag) []map[string]dbus.Variant {
	var out []map[string]dbus.Variant
	for _, t := range tags {
		low, high := 0, 0
		switch {
		case t.ID != nil:
			low, high = *t.ID, *t.ID
		case t.Range != nil:
			low, high = t.Range.Min, t.Range.Max
		}
		out = append(out, map[string]dbus.Variant{"start": dbus.MakeVariant(uint64(low)), "end": dbus.MakeVariant(uint64(high))})
	}
	return out
}

// ovsPortBond writes a bond inside the bridge. "lacp" is not a mode of Open vSwitch, but switches LACP on.
func ovsPortBond(s profile.Settings, b *netstate.PortBond) {
	const sec = profile.TypeOVSPort
	switch b.Mode {
	case "":
	case "lacp":
		setOrDrop(s, sec, "bond-mode", "", "")
		setOrDrop(s, sec, "lacp", "active", "")
	default:
		setOrDrop(s, sec, "bond-mode", b.Mode, "")
		setOrDrop(s, sec, "lacp", "", "")
	}
}

// ovsColumns brings free-form columns of the database into the profile of a bridge, a port or an interface; a null removes its key,
// and an empty column all that the profile has: those of other programs stay.
func ovsColumns(s profile.Settings, want *netstate.OVSDB) {
	if want == nil {
		return
	}
	had := func(section string) map[string]*string {
		out := map[string]*string{}
		for key, value := range profile.Value[map[string]string](s, section, "data") {
			out[key] = &value
		}
		return out
	}
	want = want.SpelledOut(&netstate.OVSDB{ExternalIDs: had(profile.SectionExternalIDs), OtherConfig: had(profile.SectionOtherConfig)})
	for section, columns := range map[string]map[string]*string{
		profile.SectionExternalIDs: want.ExternalIDs, profile.SectionOtherConfig: want.OtherConfig,
	} {
		have := profile.Value[map[string]string](s, section, "data")
		next := map[string]string{}
		maps.Copy(next, have)
		for key, value := range columns {
			delete(next, key)
			if value != nil {
				next[key] = *value
			}
		}
		if !maps.Equal(have, next) {
			s.Set(section, "data", next)
		}
	}
}
