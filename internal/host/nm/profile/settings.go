package profile

import (
	"maps"
	"reflect"

	"github.com/godbus/dbus/v5"
)

// Settings is a profile as NetworkManager sends it: section, key, value. What this
// package does not know is carried along unchanged.
type Settings map[string]map[string]dbus.Variant

// NetworkManager's names of profile types.
const (
	TypeEthernet     = "802-3-ethernet"
	TypeVeth         = "veth"
	TypeVLAN         = "vlan"
	TypeBond         = "bond"
	TypeBridge       = "bridge"
	TypeDummy        = "dummy"
	TypeMACVLAN      = "macvlan"
	TypeVRF          = "vrf"
	TypeVXLAN        = "vxlan"
	TypeIPVLAN       = "ipvlan"
	TypeMACSec       = "macsec"
	TypeLoopback     = "loopback"
	TypeOVSInterface = "ovs-interface"
	TypeOVSBridge    = "ovs-bridge"
	TypeOVSPort      = "ovs-port"
	// Section8021X is how a card authenticates itself.
	Section8021X = "802-1x"
	// SectionOVSPatch belongs to a profile of an ovs-interface that is one end of a patch.
	SectionOVSPatch = "ovs-patch"
	// These two hold columns of a row of the Open vSwitch database, as a map of texts under "data".
	SectionExternalIDs = "ovs-external-ids"
	SectionOtherConfig = "ovs-other-config"
)

// Deprecated twins of other keys. NetworkManager may prefer them to what they were
// replaced by, so they never go back to it.
var deprecatedTwins = map[string][]string{
	"ipv4": {"addresses", "routes", "dns"},
	"ipv6": {"addresses", "routes", "dns"},
}

// Clone copies the sections; values are immutable.
func (s Settings) Clone() Settings {
	out := make(Settings, len(s))
	for name, section := range s {
		out[name] = maps.Clone(section)
	}
	return out
}

// WithoutTwins drops the deprecated keys.
func (s Settings) WithoutTwins() Settings {
	for section, keys := range deprecatedTwins {
		for _, k := range keys {
			delete(s[section], k)
		}
	}
	return s
}

// Equal compares all keys.
func (s Settings) Equal(o Settings) bool { return reflect.DeepEqual(s, o) }

// Set writes a key.
func (s Settings) Set(section, key string, value any) {
	if s[section] == nil {
		s[section] = map[string]dbus.Variant{}
	}
	s[section][key] = dbus.MakeVariant(value)
}

// Drop removes keys.
func (s Settings) Drop(section string, keys ...string) {
	for _, k := range keys {
		delete(s[section], k)
	}
}

// Value reads a key; the zero value where it is missing or of another type.
func Value[T any](s Settings, section, key string) T {
	v, _ := s[section][key].Value().(T)
	return v
}

// ID is the name shown to users.
func (s Settings) ID() string { return Value[string](s, "connection", "id") }

// UUID is the identity of the profile.
func (s Settings) UUID() string { return Value[string](s, "connection", "uuid") }

// Kind is NetworkManager's name of the profile's type.
func (s Settings) Kind() string { return Value[string](s, "connection", "type") }

// Controller is the UUID or the interface name of the profile's controller; empty for none. NetworkManager has two names for
// it.
func (s Settings) Controller() string {
	if c := Value[string](s, "connection", "master"); c != "" {
		return c
	}
	return Value[string](s, "connection", "controller")
}

// ControllerKind is NetworkManager's name of the controller's type.
func (s Settings) ControllerKind() string {
	if k := Value[string](s, "connection", "slave-type"); k != "" {
		return k
	}
	return Value[string](s, "connection", "port-type")
}

// Iface is the interface that the profile is bound to; empty for any.
func (s Settings) Iface() string { return Value[string](s, "connection", "interface-name") }

// Base is the interface that a link stands on; empty for none. A profile may also name the profile of that interface.
func (s Settings) Base() string {
	switch kind := s.Kind(); kind {
	case TypeVLAN, TypeMACVLAN, TypeVXLAN, TypeMACSec, TypeIPVLAN:
		return Value[string](s, kind, "parent")
	}
	return ""
}

// Card is the permanent MAC address of the only card that the profile fits; nil for any.
func (s Settings) Card() []byte { return Value[[]byte](s, TypeEthernet, "mac-address") }

// Values of connection.multi-connect from which on a profile may be active on several devices at once.
const manualMultiple = 2

// Multiple says that the profile may be active on several devices at once.
func (s Settings) Multiple() bool {
	return Value[int32](s, "connection", "multi-connect") >= manualMultiple
}

// Autoconnect says that NetworkManager may activate the profile by itself, which is the default.
func (s Settings) Autoconnect() bool {
	v, ok := s["connection"]["autoconnect"]
	return !ok || v.Value() == true
}

// Priority orders profiles for one interface at boot; higher wins.
func (s Settings) Priority() int32 { return Value[int32](s, "connection", "autoconnect-priority") }

// Dicts reads a list of dictionaries, as address-data and route-data are.
func (s Settings) Dicts(section, key string) []map[string]dbus.Variant {
	return Value[[]map[string]dbus.Variant](s, section, key)
}

// descriptionKey is where nmstate keeps the description of an interface, among the user's data of its profile.
const descriptionKey = "nmstate.interface.description"

// Description is what the interface's owner says of it; empty for nothing.
func (s Settings) Description() string {
	return Value[map[string]string](s, "user", "data")[descriptionKey]
}

// SetDescription replaces it; other data of users stay.
func (s Settings) SetDescription(text string) {
	if s.Description() == text {
		return
	}
	data := maps.Clone(Value[map[string]string](s, "user", "data"))
	if data == nil {
		data = map[string]string{}
	}
	data[descriptionKey] = text
	if text == "" {
		delete(data, descriptionKey)
	}
	if len(data) == 0 {
		delete(s, "user")
		return
	}
	s.Set("user", "data", data)
}
