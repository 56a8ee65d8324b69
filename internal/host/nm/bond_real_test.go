package nm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bondOf is a bond over nic1 and nic2.
func bondOf(options string) string {
	return "interfaces: [{name: bond7, type: bond, state: up, link-aggregation: {mode: active-backup, options: {" + options + "}, port: [nic1, nic2]}}]"
}

func (n *testNode) primary() string {
	return strings.TrimSpace(n.text("/sys/class/net/bond7/bonding/primary"))
}

func TestPrimaryIsCleared(t *testing.T) {
	n := newNode(t)
	needs(t, "bond")
	n.cards("nic1", "nic2")
	n.apply(bondOf("miimon: 100, primary: nic1"))
	require.Equal(t, "nic1", n.primary())
	n.refusedByProof(bondOf("primary: ''"))
	require.Equal(t, "nic1", n.primary(), "rolled back")
	n.apply(bondOf("primary: ''"))
	require.Empty(t, n.primary())
	n.inPlace(bondOf("primary: ''"))
	n.apply(bondOf("primary: nic2"))
	require.Equal(t, "nic2", n.primary())
}

// A port leaves a bridge for a bond and comes back, each in one document.
func TestPortMovesBetweenABridgeAndABond(t *testing.T) {
	n := newNode(t)
	needs(t, "bond")
	n.cards("nic1", "nic2")
	bridge := func(port string) string {
		return "{name: br0, type: linux-bridge, state: up, bridge: {port: [" + port + "]}}"
	}
	bond := func(ports string) string {
		return "{name: bond7, type: bond, state: up, link-aggregation: {mode: active-backup, options: {miimon: 100}, port: [" + ports + "]}}"
	}
	n.apply("interfaces: [" + bridge("{name: nic1}") + "]")
	there := "interfaces: [" + bridge("") + "," + bond("nic1, nic2") + "]"
	n.refusedByProof(there)
	n.apply(there)
	require.Equal(t, []string{"nic1", "nic2"}, n.find("bond7", "").Bond.Ports)
	require.Empty(t, n.find("br0", "").Bridge.Ports)
	n.inPlace(there)
	back := "interfaces: [" + bridge("{name: nic1}") + "," + bond("nic2") + "]"
	n.apply(back)
	require.Equal(t, []string{"nic2"}, n.find("bond7", "").Bond.Ports)
	require.Equal(t, "nic1", n.find("br0", "").Bridge.Ports[0].Name)
	n.inPlace(back)
}
