package nm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ports are swapped between two bonds in one document, a bond keeps its MAC address when its first port leaves, a mode
// changes, and a bond without ports is legal.
func TestBondPorts(t *testing.T) {
	n := newNode(t)
	needs(t, "bond")
	n.cards("nic1", "nic2", "nic3")
	bond := func(name, mode, ports string) string {
		return "{name: " + name + ", type: bond, state: up, link-aggregation: {mode: " + mode + ", port: [" + ports + "]}}"
	}
	n.apply("interfaces: [" + bond("bond7", "active-backup", "nic1, nic2") + "," + bond("bond8", "active-backup", "nic3") + "]")
	mac := n.find("bond7", "").MACAddress
	n.refusedByProof("interfaces: [" + bond("bond7", "active-backup", "nic3") + "," + bond("bond8", "active-backup", "nic1, nic2") + "]")
	n.apply("interfaces: [" + bond("bond7", "active-backup", "nic3, nic2") + "," + bond("bond8", "active-backup", "nic1") + "]")
	require.Equal(t, []string{"nic2", "nic3"}, n.find("bond7", "").Bond.Ports)
	require.Equal(t, []string{"nic1"}, n.find("bond8", "").Bond.Ports)
	require.Equal(t, mac, n.find("bond7", "").MACAddress)

	n.apply("interfaces: [" + bond("bond7", "balance-rr", "nic3, nic2") + "]")
	require.Equal(t, "balance-rr", n.find("bond7", "").Bond.Mode)
	require.Equal(t, []string{"nic2", "nic3"}, n.find("bond7", "").Bond.Ports)
	n.inPlace("interfaces: [" + bond("bond7", "balance-rr", "nic3, nic2") + "]")

	n.apply("interfaces: [" + bond("bond8", "active-backup", "") + "]")
	require.Empty(t, n.find("bond8", "").Bond.Ports)
	n.settled()
}

// The VLAN filter of a port changes while the bridge stays, and goes away.
func TestFilterChanges(t *testing.T) {
	n := newNode(t)
	needs(t, "filter")
	n.cards("nic1")
	bridge := func(vlan string) string {
		return "interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: [{name: nic1, vlan: {" + vlan + "}}]}}]"
	}
	n.apply(bridge("mode: access, tag: 7"))
	index := strings.Fields(n.IP("-o", "link", "show", "br0"))[0]
	n.apply(bridge("mode: trunk, tag: 5, enable-native: true, trunk-tags: [{id: 8}]"))
	got := n.find("br0", "").Bridge.Ports[0].VLAN
	require.Equal(t, 5, *got.Tag)
	require.Equal(t, 8, *got.TrunkTags[0].ID)
	n.inPlace(bridge("mode: trunk, tag: 5, enable-native: true, trunk-tags: [{id: 8}]"))
	n.apply(bridge(""))
	require.Nil(t, n.find("br0", "").Bridge.Ports[0].VLAN)
	require.Equal(t, index, strings.Fields(n.IP("-o", "link", "show", "br0"))[0], "the bridge was not made anew")
}
