package netstate

import (
	"maps"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// What belongs to the node as a whole, and to no interface: its names, and its row in the Open vSwitch database.

// MappingsKey is the external id in which OVN keeps the bridge mappings of the node.
const MappingsKey = "ovn-bridge-mappings"

// NodeWide is the part of a document that no interface has.
func (d Document) NodeWide() Document {
	return Document{Hostname: d.Hostname, OVSDB: d.OVSDB, OVN: d.OVN}
}

// NotEphemeral is why a change that ends with the boot cannot have one of the Lasting keys.
const NotEphemeral = "an ephemeral change ends with the boot, and this is kept on the disk at once"

// Lasting are the paths of the keys that are kept on the disk as soon as they are applied.
func (d Document) Lasting() (paths []string) {
	if d.Hostname != nil && d.Hostname.Config != nil {
		paths = append(paths, "hostname.config")
	}
	if d.OVSDB != nil {
		paths = append(paths, "ovs-db")
	}
	if len(d.OVN.bridgeMappings()) > 0 {
		paths = append(paths, "ovn.bridge-mappings")
	}
	return paths
}

// mergeHostname: the running name follows a stored one that is given alone.
func mergeHostname(have, want *Hostname) *Hostname {
	out := tree.Overlay(have, want)
	if want != nil && want.Running == nil && textOf(want.Config) != "" {
		followed := *out
		followed.Running = want.Config
		return &followed
	}
	return out
}

// changedHostname leaves the running name out where it follows from the stored one.
func changedHostname(before, after *Hostname) *Hostname {
	if after == nil {
		return nil
	}
	var had, out Hostname
	if before != nil {
		had = *before
	}
	if textOf(had.Config) != textOf(after.Config) {
		out.Config = new(textOf(after.Config)) // empty where no name is stored
	}
	follows := textOf(out.Config) != "" && textOf(out.Config) == textOf(after.Running)
	otherwise := textOf(had.Running) != textOf(after.Running) || textOf(out.Config) != ""
	if after.Running != nil && !follows && otherwise {
		out.Running = after.Running
	}
	if out == (Hostname{}) {
		return nil
	}
	return &out
}

// SpelledOut names the keys that an empty column orders away, all that have has; without any column it is both, as in nmstate.
func (o *OVSDB) SpelledOut(have *OVSDB) *OVSDB {
	if o == nil || have == nil {
		return o
	}
	both := o.ExternalIDs == nil && o.OtherConfig == nil
	spell := func(column, had map[string]*string) map[string]*string {
		if len(column) > 0 || column == nil && !both {
			return column
		}
		out := map[string]*string{}
		for key := range had {
			out[key] = nil
		}
		return out
	}
	return &OVSDB{ExternalIDs: spell(o.ExternalIDs, have.ExternalIDs), OtherConfig: spell(o.OtherConfig, have.OtherConfig)}
}

// canonical has no keys that are ordered away.
func (o *OVSDB) canonical() *OVSDB {
	if o == nil {
		return nil
	}
	return &OVSDB{ExternalIDs: dropNullKeys(o.ExternalIDs), OtherConfig: dropNullKeys(o.OtherConfig)}
}

// orNothing is nil where no key is left: interfaces are observed so.
func (o *OVSDB) orNothing() *OVSDB {
	if o == nil || o.ExternalIDs == nil && o.OtherConfig == nil {
		return nil
	}
	return o
}

// withColumns is a bond inside a bridge with its free-form columns merged.
func (b *PortBond) withColumns(have, want *PortBond) *PortBond {
	if have == nil || want == nil || want.OVSDB == nil {
		return b
	}
	out := *b
	out.OVSDB = tree.Overlay(have.OVSDB, want.OVSDB.SpelledOut(have.OVSDB)).canonical().orNothing()
	return &out
}

func dropNullKeys(in map[string]*string) map[string]*string {
	out := maps.Clone(in)
	maps.DeleteFunc(out, func(_ string, v *string) bool { return v == nil })
	if len(out) == 0 {
		return nil
	}
	return out
}

// canonical has the mappings in the order of their names.
func (o *OVN) canonical() *OVN {
	if o == nil {
		return nil
	}
	out := mergeMappings(nil, o)
	if len(out.BridgeMappings) == 0 {
		return nil
	}
	return out
}

func mergeMappings(have, want *OVN) *OVN {
	if want == nil {
		return have
	}
	all := map[string]BridgeMapping{}
	for _, b := range slices.Concat(have.bridgeMappings(), want.bridgeMappings()) {
		if b.State == StateAbsent {
			delete(all, b.Localnet)
		} else {
			b.State = ""
			all[b.Localnet] = b
		}
	}
	out := &OVN{BridgeMappings: []BridgeMapping{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out.BridgeMappings = append(out.BridgeMappings, all[name])
	}
	return out
}

func (o *OVN) bridgeMappings() []BridgeMapping {
	if o == nil {
		return nil
	}
	return o.BridgeMappings
}

// Mapping finds the mapping of a localnet network, or the order to remove it.
func (o *OVN) Mapping(localnet string) (BridgeMapping, bool) {
	for _, b := range o.bridgeMappings() {
		if b.Localnet == localnet {
			return b, true
		}
	}
	return BridgeMapping{}, false
}

func changedMappings(before, after *OVN) *OVN {
	var all []BridgeMapping
	for _, b := range before.bridgeMappings() {
		if _, stays := after.Mapping(b.Localnet); !stays {
			all = append(all, BridgeMapping{Localnet: b.Localnet, State: StateAbsent})
		}
	}
	for _, a := range after.bridgeMappings() {
		if !slices.Contains(before.bridgeMappings(), a) {
			all = append(all, a)
		}
	}
	return asOVN(all)
}

func asOVN(all []BridgeMapping) *OVN {
	if len(all) == 0 {
		return nil
	}
	return &OVN{BridgeMappings: all}
}

func changedColumns(before, after *OVSDB) *OVSDB {
	var have, want OVSDB
	if before != nil {
		have = *before
	}
	if after != nil {
		want = *after
	}
	c := OVSDB{
		ExternalIDs: changedKeys(have.ExternalIDs, want.ExternalIDs), OtherConfig: changedKeys(have.OtherConfig, want.OtherConfig),
	}
	if c.ExternalIDs == nil && c.OtherConfig == nil {
		return nil
	}
	return &c
}

// changedKeys are the keys that differ; null takes one away.
func changedKeys(have, want map[string]*string) map[string]*string {
	out := map[string]*string{}
	for k, v := range want {
		if h := have[k]; v != nil && (h == nil || *h != *v) {
			out[k] = v
		}
	}
	for k, v := range have {
		if v != nil && want[k] == nil {
			out[k] = nil
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// combineColumns has the keys of both; what both mention is as the first says, also that a key is to go.
func combineColumns(first, second *OVSDB) *OVSDB {
	if first == nil || second == nil {
		return tree.Overlay(second, first)
	}
	join := func(first, second map[string]*string) map[string]*string {
		if first == nil {
			return second
		}
		if len(first) == 0 {
			return first // it orders all keys away
		}
		out := maps.Clone(first)
		for k, v := range second {
			if _, said := out[k]; !said {
				out[k] = v
			}
		}
		return out
	}
	return &OVSDB{
		ExternalIDs: join(first.ExternalIDs, second.ExternalIDs), OtherConfig: join(first.OtherConfig, second.OtherConfig),
	}
}

func combineMappings(first, second *OVN) *OVN {
	if first == nil || second == nil {
		return tree.Overlay(second, first)
	}
	return asOVN(slices.Concat(first.bridgeMappings(), withoutMappings(second, first).bridgeMappings()))
}

// withoutMappings leaves out the networks that the part mentions.
func withoutMappings(all, part *OVN) *OVN {
	return asOVN(slices.DeleteFunc(slices.Clone(all.bridgeMappings()), func(b BridgeMapping) bool {
		_, said := part.Mapping(b.Localnet)
		return said
	}))
}

func droppedMappings(back, last, next *OVN) *OVN {
	return asOVN(slices.DeleteFunc(slices.Clone(back.bridgeMappings()), func(b BridgeMapping) bool {
		_, said := last.Mapping(b.Localnet)
		_, says := next.Mapping(b.Localnet)
		return !said || says
	}))
}

// compareNodeWide compares what belongs to the node as a whole.
func (c *comparison) compareNodeWide(want Document) {
	var names Hostname
	if c.got.Hostname != nil {
		names = *c.got.Hostname
	}
	if want.Hostname != nil {
		c.compareName("hostname.running", "the host name", want.Hostname.Running, names.Running)
		c.compareName("hostname.config", "the stored host name", want.Hostname.Config, names.Config)
	}
	var columns OVSDB
	if c.got.OVSDB != nil {
		columns = *c.got.OVSDB
	}
	if want.OVSDB != nil {
		for _, m := range tree.Missing(*want.OVSDB.SpelledOut(&columns), columns) {
			c.addMismatch("", "ovs-db."+m.Path, m.Want, m.Got, "the Open vSwitch database has %s %s, not %s", m.Path, m.Got, m.Want)
		}
	}
	for _, b := range want.OVN.bridgeMappings() {
		have, exists := c.got.OVN.Mapping(b.Localnet)
		path := "ovn.bridge-mappings[" + b.Localnet + "]"
		switch {
		case b.State == StateAbsent && exists:
			c.addMismatch("", path, "nothing", have.Bridge, "OVN's network %s is still mapped to %s", b.Localnet, have.Bridge)
		case b.State != StateAbsent && have.Bridge != b.Bridge:
			c.addMismatch("", path, b.Bridge, have.Bridge, "OVN's network %s is mapped to %q, not %q", b.Localnet, have.Bridge, b.Bridge)
		}
	}
}

func (c *comparison) compareName(key, words string, want, got *string) {
	if want != nil && *want != textOf(got) {
		c.addMismatch("", key, *want, textOf(got), "%s is %q, not %q", words, textOf(got), *want)
	}
}
