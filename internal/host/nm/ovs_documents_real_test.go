package nm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// TestOpenVSwitchTakesTheDocumentsOfNmstate: the ports of a bond in any order, a bridge without its type, and a shown MAC address.
func TestOpenVSwitchTakesTheDocumentsOfNmstate(t *testing.T) {
	n := newSwitch(t)
	n.cards("nic3")
	const bond = `interfaces:
- {name: br1, type: ovs-bridge, state: up, bridge: {options: {datapath: netdev}, port: [{name: store}, {name: bond1, link-aggregation: {mode: active-backup,
   port: [{name: nic2}, {name: nic1}]}}]}}
- {name: store, type: ovs-interface, state: up, ipv4: {enabled: true, address: [{ip: 203.0.113.9, prefix-length: 24}]}}`
	n.apply(bond)
	n.inPlace(bond)

	mac := n.find("store", netstate.TypeOVSInterface).MACAddress
	larger := "interfaces: [{name: store, type: ovs-interface, state: up, mtu: 1501, mac-address: '" + mac + "'}]"
	n.apply(larger)
	n.inPlace(larger)
	require.Equal(t, mac, n.find("store", netstate.TypeOVSInterface).MACAddress)

	untyped := "interfaces: [{name: br1, bridge: {port: [{name: store}, {name: nic3}]}}]"
	n.apply(untyped)
	n.inPlace(untyped)
	require.Equal(t, "nic3\nstore", n.vsctl("list-ports", "br1"))
	n.settled()
}
