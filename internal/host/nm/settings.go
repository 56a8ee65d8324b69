package nm

import (
	"maps"
	"reflect"

	"github.com/godbus/dbus/v5"
)

// settings is a profile as NetworkManager sends it: section, key, value. What this
// package does not know is carried along unchanged.
type settings map[string]map[string]dbus.Variant

// NetworkManager's names of profile types.
const (
	typeEthernet     = "802-3-ethernet"
	typeVeth         = "veth"
	typeVLAN         = "vlan"
	typeBond         = "bond"
	typeBridge       = "bridge"
	typeOVSInterface = "ovs-interface"
	typeOVSBridge    = "ovs-bridge"
)

// Deprecated twins of other keys. NetworkManager may prefer them to what they were
// replaced by, so they never go back to it.
var deprecatedTwins = map[string][]string{
	"ipv4": {"addresses", "routes", "dns"},
	"ipv6": {"addresses", "routes", "dns"},
}

func (s settings) clone() settings {
	out := make(settings, len(s))
	for name, section := range s {
		out[name] = maps.Clone(section)
	}
	return out
}

// withoutTwins drops the deprecated keys.
func (s settings) withoutTwins() settings {
	for section, keys := range deprecatedTwins {
		for _, k := range keys {
			delete(s[section], k)
		}
	}
	return s
}

func (s settings) equal(o settings) bool { return reflect.DeepEqual(s, o) }

func (s settings) set(section, key string, value any) {
	if s[section] == nil {
		s[section] = map[string]dbus.Variant{}
	}
	s[section][key] = dbus.MakeVariant(value)
}

func (s settings) drop(section string, keys ...string) {
	for _, k := range keys {
		delete(s[section], k)
	}
}

// value reads a key; the zero value where it is missing or of another type.
func value[T any](s settings, section, key string) T {
	v, _ := s[section][key].Value().(T)
	return v
}

func (s settings) id() string    { return value[string](s, "connection", "id") }
func (s settings) uuid() string  { return value[string](s, "connection", "uuid") }
func (s settings) kind() string  { return value[string](s, "connection", "type") }
func (s settings) iface() string { return value[string](s, "connection", "interface-name") }

func (s settings) autoconnect() bool {
	v, ok := s["connection"]["autoconnect"]
	return !ok || v.Value() == true
}

func (s settings) priority() int32 { return value[int32](s, "connection", "autoconnect-priority") }

// dicts reads a list of dictionaries, as address-data and route-data are.
func (s settings) dicts(section, key string) []map[string]dbus.Variant {
	return value[[]map[string]dbus.Variant](s, section, key)
}
