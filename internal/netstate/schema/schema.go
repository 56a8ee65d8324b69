// Package schema is the table of nmstate's schema: which keys are supported, partly, or not. It is derived from the
// document's own types, so a key that is added there is in the table; only what the types cannot say is written down here.
// hack/schematable prints it for the documentation. It does no I/O and imports netstate.
package schema

import (
	"reflect"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
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

// Key is one line of the table.
type Key struct {
	// Path is as error messages write it, with [] for the items of a list.
	Path    string
	Support Support
	// Aliases are other spellings that are read.
	Aliases []string
	Note    string
}

// remarks are what the types cannot say.
var remarks = map[string]Key{
	"description":          {Support: Read, Note: "kept in the document, stored nowhere"},
	"routes.running":       {Support: Read},
	"route-rules.running":  {Support: Read},
	"dns-resolver.running": {Support: Read},
	"hostname.running":     {Support: Full, Note: "of a document with hostname.config alone, the running name follows"},
	"hostname.config":      {Support: Full, Note: "an empty one removes it; not in an ephemeral change"},
	"ovs-db":               {Support: Full, Note: "of the node; null removes a key; not in an ephemeral change"},
	"ovn":                  {Support: Full, Note: "not in an ephemeral change"},
	"routes.config[].weight": {
		Support: Full,
		Note:    "1-256, IPv4; the routes that share a destination need one and the same metric",
	},
	"routes.config[].route-type": {
		Support: Full,
		Note:    "blackhole, unreachable, prohibit; kept in the profile of an interface that has the family",
	},
	"interfaces[].ipv4.autoconf":       {Support: No, Note: "belongs to ipv6"},
	"interfaces[].ipv4.addr-gen-mode":  {Support: No, Note: "belongs to ipv6"},
	"interfaces[].ipv4.token":          {Support: No, Note: "belongs to ipv6"},
	"interfaces[].ipv4.dhcp-duid":      {Support: No, Note: "belongs to ipv6"},
	"interfaces[].ipv6.dhcp-client-id": {Support: No, Note: "belongs to ipv4"},
	"routes.config[].metric": {
		Support: Full,
		Note:    "-1 and 0 leave it to NetworkManager; orders to remove do not look at it",
	},
	"routes.config[].state":    {Support: Full, Note: "absent; keys that are left out match anything"},
	"routes.config[].vrf-name": {Support: No, Note: "give the table of the VRF as table-id"},
	"route-rules.config[].state": {
		Support: Full,
		Note:    "absent; an empty ip-from or ip-to matches rules without one",
	},
	"interfaces[].type":                                           {Support: Partly, Note: "see the types below"},
	"interfaces[].state":                                          {Support: Full, Note: "up, down, absent, ignore"},
	"interfaces[].identifier":                                     {Support: Full, Note: "name, mac-address"},
	"interfaces[].mac-address":                                    {Support: Full, Note: "of a vrf it has no effect"},
	"interfaces[].mac-vlan.mode":                                  {Support: Full, Note: "vepa, bridge, private, passthru"},
	"routes.config[].table-id":                                    {Support: Full, Note: "all but 255, the kernel's own"},
	"interfaces[].ethernet":                                       {Support: Full, Note: "rolled back where the card does not follow"},
	"interfaces[].ipv6.autoconf":                                  {Support: Full, Note: "true needs dhcp: true, as in nmstate"},
	"interfaces[].bridge.allow-extra-patch-ports":                 {Support: Partly, Note: "true or false, patch ports are never removed"},
	"interfaces[].bridge.port[].link-aggregation.ovs-db":          {Support: No},
	"interfaces[].bridge.port[].link-aggregation.port[].priority": {Support: No},
	"interfaces[].bridge.port[].link-aggregation.port[].queue-id": {Support: No},
	"interfaces[].ovs-db":                                         {Support: Full, Note: "of an ovs-bridge and an ovs-interface"},
	"interfaces[].link-aggregation.options":                       {Support: Full, Note: "the options of the kernel's bonding driver"},
}

// types are nmstate's interface types.
var types = []Key{
	{Path: netstate.TypeEthernet, Support: Full}, {Path: netstate.TypeVeth, Support: Full}, {Path: netstate.TypeVLAN, Support: Full},
	{Path: netstate.TypeBond, Support: Full}, {Path: netstate.TypeLinuxBridge, Support: Full, Note: "with VLAN filtering"},
	{
		Path: netstate.TypeOVSBridge, Support: Full,
		Note: "where NetworkManager has its Open vSwitch plug-in; bridges of other programs are read only",
	},
	{Path: netstate.TypeOVSInterface, Support: Full, Note: "internal ones and patches; no DPDK"},
	{Path: netstate.TypeDummy, Support: Full}, {Path: netstate.TypeMACVLAN, Support: Full}, {Path: netstate.TypeVRF, Support: Full},
	{Path: netstate.TypeLoopback, Support: Partly, Note: "addresses only"},
	{Path: "mac-vtap", Support: No}, {Path: "ipvlan", Support: No}, {Path: "vxlan", Support: No}, {Path: "infiniband", Support: No},
	{
		Path:    "macsec",
		Support: No,
	}, {Path: "hsr", Support: No}, {Path: "ipsec", Support: No}, {Path: "tun", Support: Read}, {Path: "xfrm", Support: No},
}

// Types are nmstate's interface types.
func Types() []Key { return slices.Clone(types) }

// Keys are all keys of a document, those of an inner part after it.
func Keys() []Key {
	var out []Key
	appendKeys(reflect.TypeFor[netstate.Document](), "", Full, &out)
	return out
}

func appendKeys(t reflect.Type, path string, above Support, out *[]Key) {
	for _, f := range tree.Fields(t) {
		k := Key{Path: tree.Join(path, f.Key), Support: above, Aliases: f.Aliases}
		inner, list := elementOf(t.Field(f.Index).Type)
		switch f.Support {
		case "read":
			k.Support = Read
		case "no":
			k.Support = No
		}
		if r, ok := remarks[k.Path]; ok {
			k.Support, k.Note = r.Support, r.Note
		}
		*out = append(*out, k)
		if inner.Kind() != reflect.Struct || len(tree.Fields(inner)) == 0 || k.Support == No || k.Support == Read {
			continue
		}
		if list {
			k.Path += "[]"
		}
		appendKeys(inner, k.Path, inheritedSupport(k.Support), out)
	}
}

// inheritedSupport is the support of keys within a part; a part that is partly supported says so key by key.
func inheritedSupport(s Support) Support {
	if s == Partly {
		return Full
	}
	return s
}

// elementOf is the type inside pointers and a list.
func elementOf(t reflect.Type) (inner reflect.Type, list bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		list = list || t.Kind() == reflect.Slice
		t = t.Elem()
	}
	return t, list
}
