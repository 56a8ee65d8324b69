// Package keys is the table of the keys of a network document: one row says of a key which links have it, which values it takes,
// which property of a NetworkManager connection holds it and who tells after a change that it is in force. Validation, planning,
// observation, key files and docs/nmstate-schema.md are made from it: a key that is like others is added by its field in package
// netstate and its row here. What one property does not hold (ports, routes, addresses) has a row all the same, and functions of
// its own.
//
// The package is data and imports nothing of this product; package netstate and the NetworkManager adapter read it.
package keys

import (
	"slices"
	"strings"
)

// Support says what becomes of a key.
type Support string

// What becomes of a key in a desired document.
const (
	Full Support = "supported"
	// Partly has a note that says what is missing.
	Partly Support = "partly"
	// Read is reported; in a desired document it has no effect.
	Read Support = "shown only"
	// No is refused in a desired document, with the path of the key.
	No Support = "not supported"
)

// Witness says who tells after a change that a key is in force.
type Witness string

// The witnesses. A supported key without keys of its own has one: what is verified by none would be lost in silence.
const (
	Kernel  Witness = "kernel"
	Switch  Witness = "Open vSwitch"
	Applied Witness = "NetworkManager" // the connection that it has applied; the kernel, where its driver tells
	Stored  Witness = "profile"        // the profile, the resolver or the node's own files
	// Order is no state: the key says how to find, to do or to judge something.
	Order Witness = "-"
)

// Row is one key.
type Row struct {
	// Path is as the documentation writes it, with [] for the items of a list.
	Path    string
	Support Support // empty: Full
	Note    string
	// Kinds are the types of links that have the key; nil for all that have the section it stands in.
	Kinds []string
	// Words are the values of a text; nil for any.
	Words []string
	// Low and High bound a number; a High of 0 leaves all that are not negative.
	Low, High int
	Witness   Witness
	Property  Property
}

// Property is a property of a NetworkManager connection. Source of names, types and defaults: nm-settings-dbus(5).
type Property struct {
	// Setting and Name are as on D-Bus; empty for a key that no single property holds.
	Setting, Name string
	Form          Form
	// Unset is what a connection without the property means, in the property's type; nil where that depends.
	Unset any
	// Values are the property's values for the words of the key (of a switch: "true" and "false"). A text that is none of them goes
	// through as it is.
	Values map[string]any
	// Mask are the bits of a Bits property that belong to the key, and of a Flags property those that each flag brings.
	Mask uint32
	// Left says that without the property the kernel's own value stays: a profile that is silent may stay silent where the link
	// has what is wanted.
	Left bool
	// Group names properties that are written together or not at all.
	Group string
	// Fixed says what a new value needs besides a profile.
	Fixed Fixing
	// Hidden is a value that is not shown, and is what a document means that says nothing of the key; nil for none.
	Hidden any
	// Secret texts are shown nowhere.
	Secret bool
	// Automatic says that the property matters in a family that is configured by the network alone.
	Automatic bool
}

// Form is how a property spells the value of a key.
type Form string

// The forms, by their types on D-Bus.
const (
	Flag     Form = "b"
	Opposite Form = "!b" // true where the key is false
	Number   Form = "u"
	Wide     Form = "t"
	Signed   Form = "i"
	Long     Form = "x"
	Text     Form = "s"
	Ternary  Form = "i?" // -1 leaves it to NetworkManager's configuration
	Hardware Form = "ay" // a MAC address
	Bits     Form = "u&" // some bits of a number
	Texts    Form = "as"
	Flags    Form = "u|"      // the bits of several words; that of the empty word stands for none
	File     Form = "ay:file" // a path, as a URL with a zero at its end
)

// Fixing says what it takes to give a link another value of a property; more needs more.
type Fixing int

// What a new value takes besides an updated profile.
const (
	InPlace Fixing = iota
	// Activated properties take effect when the profile is activated anew.
	Activated
	// Made properties belong to the link: it is made anew.
	Made
)

// IsSimple says that one property alone holds the key.
func (r Row) IsSimple() bool { return r.Property.Name != "" && r.Property.Form != "" }

// String is the property as nmcli writes it; empty for none.
func (p Property) String() string {
	if p.Name == "" {
		return p.Setting
	}
	return p.Setting + "." + p.Name
}

// All are the rows, as they stand in the table.
func All() []Row { return slices.Clone(table) }

// Of are the rows of a path: several where types of links keep the key in different properties.
func Of(path string) []Row { return rowsOf[path] }

// Parts of a document whose keys are properties of one connection.
const (
	Links       = "interfaces[]"
	IPv4        = "interfaces[].ipv4"
	IPv6        = "interfaces[].ipv6"
	BridgePorts = "interfaces[].bridge.port[]"
	BondPorts   = "interfaces[].link-aggregation.ports-config[]"
)

// IsSettled says that the system follows a key of an interface when the interface is activated or not at all: waiting does not help.
func IsSettled(path string) bool {
	return strings.HasPrefix(path, "ethtool.") || IsUntold(path)
}

// IsUntold says that there may be no witness of a key of an interface: a driver without link settings, a kernel without multicast
// snooping. What is not reported is then not held against the system.
func IsUntold(path string) bool {
	return slices.ContainsFunc(Of(Links+"."+path), func(r Row) bool { return r.Witness == Applied || r.Property.Form == Bits })
}

// In are the simple rows of a part for a type of links, with their paths from the part on; an empty type takes all.
func In(part, kind string) []Row {
	var out []Row
	for _, r := range rowsIn[part] {
		if kind == "" || r.Kinds == nil || slices.Contains(r.Kinds, kind) {
			out = append(out, r)
		}
	}
	return out
}

// IsStored says that the profile is the witness of a key that a setting of NetworkManager holds.
func IsStored(setting, name string) bool { return storedIn[setting+"."+name] }

// HasSecrets says that a setting of NetworkManager holds secrets.
func HasSecrets(setting string) bool { return secretIn[setting] }

// HeldBy finds the property of a name in a setting, where one key has it.
func HeldBy(setting, name string) (Property, bool) {
	p, ok := properties[setting+"."+name]
	return p, ok
}

// The table and its indexes never change.
var (
	table                      = slices.Concat(node(), links(), families(), bridges())
	rowsOf, rowsIn, properties = indexTable(table)
	storedIn, secretIn         = indexWitnesses(table)
)

func indexTable(table []Row) (byPath, byPart map[string][]Row, byProperty map[string]Property) {
	byPath, byPart, byProperty = map[string][]Row{}, map[string][]Row{}, map[string]Property{}
	for _, r := range table {
		byPath[r.Path] = append(byPath[r.Path], r)
		if !r.IsSimple() {
			continue
		}
		byProperty[r.Property.String()] = r.Property
		for _, part := range []string{IPv4, IPv6, BridgePorts, BondPorts, Links} {
			if path, below := strings.CutPrefix(r.Path, part+"."); below {
				r.Path = path
				byPart[part] = append(byPart[part], r)
				break
			}
		}
	}
	return byPath, byPart, byProperty
}

func indexWitnesses(table []Row) (stored, secret map[string]bool) {
	stored, secret = map[string]bool{}, map[string]bool{}
	for _, r := range table {
		if r.IsSimple() && r.Witness == Stored {
			stored[r.Property.String()] = true
		}
		if r.Property.Secret {
			secret[r.Property.Setting] = true
		}
	}
	return stored, secret
}
