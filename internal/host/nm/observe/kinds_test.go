package observe

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// kernelPort holds the VLANs of a port as the kernel does: a new native VLAN ends the former one as such, and the port stays a
// member of it.
type kernelPort []*nl.BridgeVlanInfo

// attached is a port that has just been attached to a bridge which filters VLANs.
func attached(defaultPVID int) kernelPort {
	var p kernelPort
	if defaultPVID != 0 {
		p.add(defaultPVID, true)
	}
	return p
}

func (p *kernelPort) add(id int, native bool) {
	*p = slices.DeleteFunc(*p, func(v *nl.BridgeVlanInfo) bool { return int(v.Vid) == id })
	added := &nl.BridgeVlanInfo{Vid: uint16(id)}
	if native {
		for _, v := range *p {
			v.Flags &^= nl.BRIDGE_VLAN_INFO_PVID
		}
		added.Flags = nl.BRIDGE_VLAN_INFO_PVID | nl.BRIDGE_VLAN_INFO_UNTAGGED
	}
	*p = append(*p, added)
}

// configure adds what NetworkManager asks the kernel for.
func (p *kernelPort) configure(v netstate.PortVLAN) {
	if v.Tag != nil {
		p.add(*v.Tag, true)
	}
	for _, t := range v.TrunkTags {
		if t.ID != nil {
			p.add(*t.ID, false)
			continue
		}
		for id := t.Range.Min; id <= t.Range.Max; id++ {
			p.add(id, false)
		}
	}
}

// bridge has the two default VLANs: the kernel's, and none.
func bridge(pvid int, filter *netstate.PortVLAN) netstate.Document {
	b := &netstate.Bridge{Options: &netstate.BridgeOptions{VLANDefaultPVID: &pvid}, Ports: []netstate.BridgePort{{Name: "nic1", VLAN: filter}}}
	return netstate.Document{Interfaces: []netstate.Interface{{Name: "br0", Type: netstate.TypeLinuxBridge, State: netstate.StateUp, Bridge: b}}}
}

// TestPortVLAN says of every kind of filter that a document may ask for that it is in place once the kernel has it, and that
// the document then changes nothing.
func TestPortVLAN(t *testing.T) {
	for name, text := range map[string]string{
		"access":                           "{mode: access, tag: 7}",
		"access to the default":            "{mode: access, tag: 1}",
		"trunk":                            "{mode: trunk, trunk-tags: [{id: 9}, {id-range: {min: 20, max: 30}}]}",
		"trunk that says no native":        "{mode: trunk, enable-native: false, trunk-tags: [{id: 9}]}",
		"trunk with a native VLAN":         "{mode: trunk, enable-native: true, tag: 7, trunk-tags: [{id: 9}]}",
		"trunk with the default as native": "{mode: trunk, enable-native: true, tag: 1, trunk-tags: [{id: 9}]}",
		"trunk that tags the default":      "{mode: trunk, trunk-tags: [{id: 1}, {id: 9}]}",
		"tags one by one":                  "{mode: trunk, trunk-tags: [{id: 11}, {id: 9}, {id: 10}]}",
		"no filter":                        "{}",
	} {
		t.Run(name, func(t *testing.T) {
			want, err := netstate.Decode([]byte("interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: [{name: nic1, vlan: " + text + "}]}}]"))
			require.NoError(t, err)
			require.NoError(t, netstate.Validate(want))
			for _, pvid := range []int{1, 0} {
				port := attached(pvid)
				port.configure(*want.Interfaces[0].Bridge.Ports[0].VLAN)
				now := bridge(pvid, portVLAN(port, &pvid))
				require.Empty(t, netstate.Verify(want, now), "default VLAN %d", pvid)
				require.Equal(t, netstate.Document{}, netstate.Diff(now, want), "default VLAN %d", pvid)
			}
		})
	}
}

func TestPortVLANLeavesTheDefaultOut(t *testing.T) {
	port := attached(1)
	require.Nil(t, portVLAN(port, new(1)))
	port.add(7, true)
	require.Equal(t, &netstate.PortVLAN{Mode: "access", Tag: new(7)}, portVLAN(port, new(1)))
	port.add(1, false)
	require.Equal(t, "trunk", portVLAN(port, new(1)).Mode, "in the default VLAN with a tag on purpose")
}

// The kernel tells the flags of a VLAN where one is set; without any they are off, and not unknown.
func TestFlagsOfAVLAN(t *testing.T) {
	for name, c := range map[string]struct {
		flags        netlink.Vlan
		reorder      bool
		registration string
	}{
		"none":    {netlink.Vlan{}, false, "none"},
		"reorder": {netlink.Vlan{ReorderHdr: new(true), Gvrp: new(false), Mvrp: new(false), LooseBinding: new(false)}, true, "none"},
		"mvrp":    {netlink.Vlan{ReorderHdr: new(false), Gvrp: new(false), Mvrp: new(true), LooseBinding: new(false)}, false, "mvrp"},
	} {
		t.Run(name, func(t *testing.T) {
			var got netstate.VLAN
			vlanFlags(&got, &c.flags)
			require.Equal(t, netstate.VLAN{ReorderHeaders: &c.reorder, LooseBinding: new(false), RegistrationProtocol: c.registration}, got)
		})
	}
}
