package ovs

import (
	"encoding/json"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// bridgeOptions are those of a bridge in nmstate's words. An empty datapath type is the kernel's.
func (r row) bridgeOptions() *netstate.BridgeOptions {
	datapath := r.stringColumn("datapath_type")
	if datapath == "" {
		datapath = "system"
	}
	return &netstate.BridgeOptions{
		STP: &netstate.STP{Enabled: r.boolColumn("stp_enable")}, RSTP: r.boolColumn("rstp_enable"),
		McastSnooping: r.boolColumn("mcast_snooping_enable"),
		FailMode:      r.stringColumn("fail_mode"), Datapath: datapath,
	}
}

// portVLAN is the filter of a port; nil where it has none. Without a mode a port with a tag is an access port
// (ovs-vswitchd.conf.db(5), table Port).
func (r row) portVLAN() *netstate.PortVLAN {
	tags, trunks := r.intSetColumn("tag"), r.intSetColumn("trunks")
	mode := r.stringColumn("vlan_mode")
	switch {
	case mode == "native-untagged" || mode == "native-tagged":
		out := &netstate.PortVLAN{Mode: "trunk", EnableNative: new(true), TrunkTags: tagsOf(trunks)}
		if len(tags) > 0 {
			out.Tag = &tags[0]
		}
		return out.Canonical()
	case mode == "trunk" || mode == "" && len(tags) == 0 && len(trunks) > 0:
		return (&netstate.PortVLAN{Mode: "trunk", EnableNative: new(false), TrunkTags: tagsOf(trunks)}).Canonical()
	case len(tags) > 0:
		return &netstate.PortVLAN{Mode: "access", Tag: &tags[0]}
	}
	return nil
}

func tagsOf(ids []int) []netstate.TrunkTag {
	var out []netstate.TrunkTag
	for _, id := range ids {
		out = append(out, netstate.TrunkTag{ID: &id})
	}
	return out
}

// portBond is a port of several links.
func (r row) portBond(links []ovsLink) *netstate.PortBond {
	out := &netstate.PortBond{
		Mode: r.stringColumn("bond_mode"), UpDelay: new(r.intColumn("bond_updelay")), DownDelay: new(r.intColumn("bond_downdelay")),
	}
	out.OVSDB = r.freeForm()
	if l := r.stringColumn("lacp"); out.Mode == "" && (l == "active" || l == "passive") {
		out.Mode = "lacp"
	}
	for _, l := range links {
		out.Ports = append(out.Ports, netstate.BondMember{Name: l.name})
	}
	return out
}

// boolColumn reads a boolean column; nil where it is none.
func (r row) boolColumn(column string) *bool {
	var b bool
	if json.Unmarshal(r[column], &b) != nil {
		return nil
	}
	return &b
}

// intColumn reads an integer column; 0 where it is none.
func (r row) intColumn(column string) int {
	if all := r.intSetColumn(column); len(all) > 0 {
		return all[0]
	}
	return 0
}

// intSetColumn reads a column of integers: one alone, or ["set", [...]] (RFC 7047 section 5.1).
func (r row) intSetColumn(column string) []int {
	var n int
	if json.Unmarshal(r[column], &n) == nil && len(r[column]) > 0 {
		return []int{n}
	}
	var pair []json.RawMessage
	if json.Unmarshal(r[column], &pair) != nil || len(pair) != 2 {
		return nil
	}
	var out []int
	if json.Unmarshal(pair[1], &out) != nil {
		return nil
	}
	return out
}

// freeForm are those columns, without NetworkManager's own notes; nil for none.
func (r row) freeForm() *netstate.OVSDB {
	out := &netstate.OVSDB{ExternalIDs: withoutNMNotes(r.mapColumn("external_ids")),
		OtherConfig: withoutNMNotes(r.mapColumn("other_config"))}
	if out.ExternalIDs == nil && out.OtherConfig == nil {
		return nil
	}
	return out
}

func withoutNMNotes(all map[string]string) map[string]*string {
	var out map[string]*string
	for key, value := range all {
		if strings.HasPrefix(key, "NM.") {
			continue
		}
		if out == nil {
			out = map[string]*string{}
		}
		out[key] = &value
	}
	return out
}
