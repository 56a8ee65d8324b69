package plan

import (
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// shared is a card whose active profile is for any card, as RHCOS makes it: "Wired Connection".
func shared(change func(profile.Settings)) *profile.Snapshot {
	return node(func(s profile.Settings) {
		s.Drop("connection", "interface-name")
		s.Set("connection", "id", "Wired Connection")
		s.Set("connection", "multi-connect", int32(3))
		s.Set("connection", "autoconnect-priority", int32(-100))
		if change != nil {
			change(s)
		}
	})
}

// TestPlanCopiesASharedProfile: what the document does not mention stays as the shared profile has it, in a profile of the card.
func TestPlanCopiesASharedProfile(t *testing.T) {
	for name, text := range map[string]string{
		"mtu":         "interfaces: [{name: eno1, type: ethernet, state: up, mtu: 1400}]",
		"description": "interfaces: [{name: eno1, type: ethernet, state: up, description: uplink}]",
		"route":       "routes: {config: [{destination: 198.51.100.0/24, next-hop-interface: eno1, next-hop-address: 192.0.2.254}]}",
		"dns":         "dns-resolver: {config: {server: [192.0.2.60]}}",
		"no dns":      "dns-resolver: {config: {}}",
		"rule":        "route-rules: {config: [{ip-from: 192.0.2.0/24, route-table: 200, iif: eno1}]}",
		"by MAC":      "interfaces: [{name: eno1, profile-name: uplink, type: ethernet, state: up, identifier: mac-address, mac-address: '02:00:00:00:00:01', mtu: 1400}]",
	} {
		t.Run(name, func(t *testing.T) {
			s := shared(nil)
			before := s.Profiles[0].Settings.Clone()
			p := planned(t, s, text)
			require.Len(t, p.Changes, 1)
			c := p.Changes[0]
			require.Nil(t, c.Before, "the shared profile is not edited")
			require.NotNil(t, c.From)
			require.NotEqual(t, "u1", c.UUID)
			require.True(t, c.Edited())
			require.Equal(t, "manual", profile.Value[string](c.After, "ipv4", "method"))
			require.Len(t, c.After.Dicts("ipv4", "address-data"), 1)
			require.Equal(t, uint32(64), profile.Value[uint32](c.After, profile.TypeEthernet, "wake-on-lan"))
			require.NotContains(t, c.After["connection"], "multi-connect")
			require.Equal(t, int32(1), c.After.Priority(), "it wins the next boot")
			require.Equal(t, before, s.Profiles[0].Settings)
			require.NotEmpty(t, c.Keys())
			for _, key := range c.Keys() {
				require.NotContains(t, key, "uuid")
			}
		})
	}
}

// TestPlanOfWhatASharedProfileSays: a document that is in place makes no profile.
func TestPlanOfWhatASharedProfileSays(t *testing.T) {
	for name, text := range map[string]string{
		"up":           "interfaces: [{name: eno1, type: ethernet, state: up}]",
		"profile-name": "interfaces: [{name: eno1, type: ethernet, state: up, profile-name: Wired Connection}]",
		"address":      "interfaces: [{name: eno1, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}]",
		"dns":          "dns-resolver: {config: {server: [192.0.2.53]}}",
		"no route":     "routes: {config: [{state: absent, destination: 203.0.113.0/24}]}",
		"no rule":      "route-rules: {config: [{state: absent, priority: 77}]}",
	} {
		t.Run(name, func(t *testing.T) { require.Empty(t, planned(t, shared(nil), text).Changes) })
	}
	s := shared(nil)
	s.Devices[0].State = 30 // disconnected, with the connection on its way
	p := planned(t, s, "interfaces: [{name: eno1, type: ethernet, state: up}]")
	require.Len(t, p.Changes, 1)
	require.Equal(t, "u1", p.Changes[0].UUID, "the shared profile is to be active")
	require.False(t, p.Changes[0].Edited())
}

// TestPlanOfASharedProfileOnTwoCards: each card that the change concerns gets a copy.
func TestPlanOfASharedProfileOnTwoCards(t *testing.T) {
	s := shared(nil)
	s.Devices = append(s.Devices, profile.Device{Path: "/d/2", Name: "eno2", Kind: 1, State: profile.DeviceActivated, Active: s.Devices[0].Active})
	p := planned(t, s, "interfaces: [{name: eno2, type: ethernet, state: up, mtu: 1400}]")
	require.Len(t, p.Changes, 1)
	require.Equal(t, "eno2", p.Changes[0].Iface)
	p = planned(t, s, "dns-resolver: {config: {server: [192.0.2.60]}}")
	require.Len(t, p.Changes, 2, "one holds the servers, the other gives its own up")
	for _, c := range p.Changes {
		require.NotNil(t, c.From)
	}
}

// TestPlanEditsAProfileOfTheCard: one that is bound to the card's MAC address is shared with no other.
func TestPlanEditsAProfileOfTheCard(t *testing.T) {
	bound := shared(func(s profile.Settings) {
		s.Drop("connection", "multi-connect")
		s[profile.TypeEthernet]["mac-address"] = dbus.MakeVariant([]byte{2, 0, 0, 0, 0, 1})
	})
	p := planned(t, bound, "interfaces: [{name: eno1, type: ethernet, state: up, mtu: 1400}]")
	require.Equal(t, []string{"802-3-ethernet.mtu"}, p.Changes[0].Keys())
	require.Equal(t, "u1", p.Changes[0].UUID)
	p = planned(t, bound, "interfaces: [{name: eno1, type: ethernet, state: absent}]")
	require.Equal(t, ActRemove, p.Changes[0].Action)
	bound.Profiles[0].Settings.Set("connection", "multi-connect", int32(3))
	require.NotEqual(t, "u1", planned(t, bound, "interfaces: [{name: eno1, type: ethernet, state: up, mtu: 1400}]").Changes[0].UUID)
}

// TestPlanPrefersTheCardsProfileOverASharedOne where NetworkManager would, too.
func TestPlanPrefersTheCardsProfileOverASharedOne(t *testing.T) {
	s := shared(nil)
	own := node(nil).Profiles[0].Settings
	own.Set("connection", "uuid", "u2")
	s.Profiles = append(s.Profiles, profile.Profile{Path: "/p/2", Settings: own})
	text := "interfaces: [{name: eno1, type: ethernet, state: up, mtu: 1400}]"
	require.Equal(t, "u2", planned(t, s, text).Changes[0].UUID)
	own.Set("connection", "autoconnect-priority", int32(-200))
	require.NotNil(t, planned(t, s, text).Changes[0].From)
}

func TestPlanRefusesToTakeASharedProfileDown(t *testing.T) {
	err := refused(t, shared(nil), "interfaces: [{name: eno1, type: ethernet, state: down}]")
	require.ErrorContains(t, err, `profile "Wired Connection" is for other interfaces, too`)
}

// TestPlanMakesASharedCardAPort: what a port cannot have is not copied.
func TestPlanMakesASharedCardAPort(t *testing.T) {
	p := planned(t, shared(nil), "interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: [{name: eno1}]}}]")
	require.Len(t, p.Changes, 2)
	port := p.Changes[1]
	require.Equal(t, "br0", port.After.Controller())
	require.NotContains(t, port.After, "ipv4")
	require.NotNil(t, port.From)
	require.Equal(t, netstate.TypeLinuxBridge, "linux-"+port.After.ControllerKind())
}
