package nm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// twoProfiles are of one card; NetworkManager activates the first by itself.
const (
	firstOfTwo  = "[connection]\nid=first\nuuid=0b0d3d3e-0000-4000-8000-000000000001\ntype=ethernet\ninterface-name=card0\nautoconnect-priority=5\n"
	secondOfTwo = "[connection]\nid=second\nuuid=0b0d3d3e-0000-4000-8000-000000000002\ntype=ethernet\ninterface-name=card0\n"
)

// TestABridgeWhosePortHasTwoProfilesIsRemoved, whichever of the two is the port.
func TestABridgeWhosePortHasTwoProfilesIsRemoved(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	n.Keyfile("first.nmconnection", firstOfTwo+"[ipv4]\nmethod=manual\naddress1=203.0.113.5/24\n")
	n.Keyfile("second.nmconnection", secondOfTwo)
	n.reload()
	n.Until("the card is up", func() bool { return n.profileOn("card0") == "first" })
	up := "interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: [{name: card0}]}}]"
	remove := "interfaces: [{name: br0, type: linux-bridge, state: absent}]"
	for range 2 {
		n.apply(up)
		n.inPlace(up)
		n.refusedByProof(remove)
		n.apply(remove)
		n.inPlace(remove)
		n.missing("br0")
	}
	n.settled()
}

// TestBothEndsOfAPairAreRemoved where each has a profile of its own, whichever end is named.
func TestBothEndsOfAPairAreRemoved(t *testing.T) {
	for of, made := range map[string]string{
		"ends that name each other": "interfaces: [{name: pair0, type: veth, state: up, veth: {peer: pair1}}, " +
			"{name: pair1, type: veth, state: up, veth: {peer: pair0}}]",
		"an end that names the other": "interfaces: [{name: pair0, type: veth, state: up, veth: {peer: pair1}}, {name: pair1, type: veth, state: up}]",
	} {
		for by, remove := range map[string]string{
			"the first":  "interfaces: [{name: pair0, type: veth, state: absent}]",
			"the second": "interfaces: [{name: pair1, type: veth, state: absent}]",
			"both":       "interfaces: [{name: pair0, state: absent}, {name: pair1, state: absent}]",
		} {
			t.Run(of+", by "+by, func(t *testing.T) {
				n := newNode(t)
				n.apply(made)
				n.takenBackByProof(remove)
				n.apply(remove)
				n.missing("pair0")
				n.missing("pair1")
				n.inPlace(remove)
				n.PowerCut()
				n.boot()
				n.StartNM()
				n.Until("the uplink is up", func() bool { return n.has("192.0.2.10/24", "2001:db8::10/64") })
				n.missing("pair0")
				n.settled()
			})
		}
	}
}

// takenBackByProof is refusedByProof for links that are made anew: they may come back in another order, with other MAC addresses.
func (n *testNode) takenBackByProof(doc string) {
	n.t.Helper()
	before, err := n.network().Observe(timeout(n.t))
	require.NoError(n.t, err)
	require.ErrorIs(n.t, n.network().Apply(timeout(n.t), document(n.t, doc), no), errNo)
	for k := range before.Interfaces {
		before.Interfaces[k].MACAddress = ""
	}
	differs := ""
	n.t.Cleanup(func() {
		if n.t.Failed() {
			n.t.Logf("what is not back:\n%s", differs)
		}
	})
	n.Until("the state before is back", func() bool {
		now, err := n.network().Observe(timeout(n.t))
		require.NoError(n.t, err)
		differs = encoded(n.t, netstate.Transition(now, before))
		return differs == "{}\n"
	})
	n.settled()
}

// TestALinkThatIsMadeAnewKeepsItsShownAddress where the document names it.
func TestALinkThatIsMadeAnewKeepsItsShownAddress(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	n.apply(macVLAN("mode: bridge"))
	mac := n.find("mv0", netstate.TypeMACVLAN).MACAddress
	doc := "interfaces: [{name: mv0, type: mac-vlan, state: up, mac-address: '" + mac + "', mac-vlan: {base-iface: card0, mode: vepa}}]"
	n.refusedByProof(doc)
	n.apply(doc)
	require.Equal(t, mac, n.find("mv0", netstate.TypeMACVLAN).MACAddress)
	n.inPlace(doc)
	n.settled()
}
