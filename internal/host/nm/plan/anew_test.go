package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// onSwitch is a node with a bridge of Open vSwitch over nic1 and an internal interface that says no MAC address.
func onSwitch(t *testing.T) (*profile.Snapshot, netstate.Document) {
	t.Helper()
	s := &profile.Snapshot{}
	of := func(controller, kind string) func(profile.Settings) {
		return func(p profile.Settings) {
			p.Set("connection", "master", controller)
			p.Set("connection", "slave-type", kind)
		}
	}
	active(s, "br1", profile.TypeOVSBridge, nil)
	s.Devices[0].Kind = 26
	for _, port := range []string{"nic1", "store"} {
		active(s, port, profile.TypeOVSPort, of("u-br1", "ovs-bridge"))
		last := len(s.Devices) - 1
		s.Devices[last].Kind = 25
		s.Profiles[last].Settings.Set("connection", "uuid", "u-port-"+port)
		s.Devices[last].Active.UUID = "u-port-" + port
	}
	active(s, "nic1", profile.TypeEthernet, of("u-port-nic1", "ovs-port"))
	active(s, "store", profile.TypeOVSInterface, of("u-port-store", "ovs-port"))
	now, err := netstate.Decode([]byte(`
interfaces:
- {name: nic1, type: ethernet, state: up, mtu: 1500, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: store, type: ovs-interface, state: up, mtu: 1500, mac-address: '02:00:00:00:00:07', ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: br1, type: ovs-bridge, state: up, bridge: {port: [{name: nic1}, {name: store}]}}`))
	require.NoError(t, err)
	return s, now
}

// TestALinkThatIsMadeAnewKeepsTheAddressThatTheDocumentNames, and one that stays is not touched for it.
func TestALinkThatIsMadeAnewKeepsTheAddressThatTheDocumentNames(t *testing.T) {
	s, now := onSwitch(t)
	require.Empty(t, changesOf(t, s, now, "interfaces: [{name: store, type: ovs-interface, state: up, mtu: 1500, mac-address: '02:00:00:00:00:07'}]"))
	c := changesOf(t, s, now, "interfaces: [{name: store, type: ovs-interface, state: up, mtu: 1501, mac-address: '02:00:00:00:00:07'}]")["store"]
	require.Equal(t, []byte{2, 0, 0, 0, 0, 7}, profile.Value[[]byte](c.After, profile.TypeEthernet, "cloned-mac-address"))
	c = changesOf(t, s, now, "interfaces: [{name: store, type: ovs-interface, state: up, mtu: 1501}]")["store"]
	require.NotContains(t, c.After[profile.TypeEthernet], "cloned-mac-address")
}

// TestABridgeOfOpenVSwitchIsPlannedWithoutItsType: its ports go by the list, in whatever order a bond names them.
func TestABridgeOfOpenVSwitchIsPlannedWithoutItsType(t *testing.T) {
	s, now := onSwitch(t)
	changes := changesOf(t, s, now, "interfaces: [{name: br1, bridge: {port: [{name: store}]}}]")
	require.Empty(t, changes["nic1"].After.Controller())
	require.NotContains(t, changes, "store")
	require.NotContains(t, changes, "br1")
	require.Empty(t, changesOf(t, s, now, "interfaces: [{name: br1, bridge: {port: [{name: store}, {name: nic1}]}}]"))

	require.Equal(t, profile.TypeOVSBridge, changesOf(t, s, now, "interfaces: [{name: br2, type: ovs-bridge}]")["br2"].After.Kind(),
		"a new one needs no port")
	want, err := netstate.Decode([]byte("interfaces: [{name: br1, mtu: 1400}]"))
	require.NoError(t, err)
	_, err = Resolve(want, now)
	require.ErrorContains(t, err, "interfaces[br1]: an ovs-bridge carries no addresses, no MTU and no MAC address")
}
