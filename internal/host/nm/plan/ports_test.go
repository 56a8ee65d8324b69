package plan

import (
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// active is a link with an active profile.
func active(s *profile.Snapshot, name, kind string, change func(profile.Settings)) {
	p := profile.Settings{"connection": {
		"id": dbus.MakeVariant(name), "uuid": dbus.MakeVariant("u-" + name), "type": dbus.MakeVariant(kind), "interface-name": dbus.MakeVariant(name),
	}}
	if change != nil {
		change(p)
	}
	path := dbus.ObjectPath("/" + name)
	s.Profiles = append(s.Profiles, profile.Profile{Path: path, Settings: p})
	s.Devices = append(s.Devices, profile.Device{Path: path, Name: name, State: profile.DeviceActivated,
		Active: &profile.Active{Path: path, Profile: path, UUID: "u-" + name}})
}

// onBridge is a node with a bridge over nic1, as NetworkManager and an observer report it.
func onBridge(t *testing.T) (*profile.Snapshot, netstate.Document) {
	t.Helper()
	s := &profile.Snapshot{}
	active(s, "br0", profile.TypeBridge, func(p profile.Settings) { p.Set("ipv4", "method", "disabled"); p.Set("ipv6", "method", "disabled") })
	active(s, "nic1", profile.TypeEthernet, func(p profile.Settings) {
		p.Set("connection", "master", "br0")
		p.Set("connection", "slave-type", "bridge")
		p.Set("bridge-port", "path-cost", uint32(50))
	})
	now, err := netstate.Decode([]byte(`
interfaces:
- {name: nic1, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: br0, type: linux-bridge, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}, bridge: {port: [{name: nic1}]}}`))
	require.NoError(t, err)
	return s, now
}

func changesOf(t *testing.T, s *profile.Snapshot, now netstate.Document, text string) map[string]*Change {
	t.Helper()
	want, err := netstate.Decode([]byte(text))
	require.NoError(t, err)
	require.NoError(t, netstate.Validate(want))
	want, err = Resolve(want, now)
	require.NoError(t, err)
	p, err := New(want, now, s, false)
	require.NoError(t, err)
	out := map[string]*Change{}
	for _, c := range p.Changes {
		out[c.Iface] = c
	}
	return out
}

const toBond = "interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: []}}, " +
	"{name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, port: [nic1]}}]"

// What NetworkManager refuses beside the new controller goes, and the port is activated anew: it cannot be handed over.
func TestAPortMovesFromABridgeToABond(t *testing.T) {
	s, now := onBridge(t)
	c := changesOf(t, s, now, toBond)["nic1"]
	require.Equal(t, "bond0", profile.Value[string](c.After, "connection", "master"))
	require.Equal(t, "bond", profile.Value[string](c.After, "connection", "slave-type"))
	require.NotContains(t, c.After, "bridge-port", "NetworkManager refuses the settings of another controller's ports")
	require.True(t, c.Fresh)
	require.True(t, c.Moved)
}

func TestAPortThatStaysIsNotActivatedAnew(t *testing.T) {
	s, now := onBridge(t)
	same := "interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: [{name: nic1, stp-path-cost: 60}]}}]"
	c := changesOf(t, s, now, same)["nic1"]
	require.False(t, c.Fresh || c.Moved)
	require.Equal(t, uint32(60), profile.Value[uint32](c.After, "bridge-port", "path-cost"))
}

// The last port that leaves its controller in its own words leaves an empty list, not one that is not mentioned.
func TestTheLastPortLeaves(t *testing.T) {
	s, now := onBridge(t)
	c := changesOf(t, s, now, "interfaces: [{name: nic1, type: ethernet, state: up, controller: ''}]")["nic1"]
	require.NotNil(t, c)
	require.Empty(t, profile.Value[string](c.After, "connection", "master"))
}

// NetworkManager refuses an option without a value, and never unsets the kernel's: the transaction does that.
func TestAPrimaryThatIsEmptied(t *testing.T) {
	s := &profile.Snapshot{}
	active(s, "bond0", profile.TypeBond, func(p profile.Settings) {
		p.Set(profile.TypeBond, "options", map[string]string{"mode": "active-backup", "primary": "nic1"})
	})
	bond := func(options string) netstate.Document {
		d, err := netstate.Decode([]byte("interfaces: [{name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, options: {" + options + "}}}]"))
		require.NoError(t, err)
		return d
	}
	now := bond("primary: nic1")
	c := changesOf(t, s, now, "interfaces: [{name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, options: {primary: ''}}}]")["bond0"]
	require.Equal(t, map[string]string{"mode": "active-backup"}, profile.Value[map[string]string](c.After, profile.TypeBond, "options"))
	before, after := ClearedPrimaries(bond("primary: ''"), now)
	require.Equal(t, map[string]string{"bond0": "nic1"}, before)
	require.Equal(t, map[string]string{"bond0": ""}, after)
	before, _ = ClearedPrimaries(bond("primary: nic2"), now)
	require.Empty(t, before, "NetworkManager itself sets another one")
}

// What NetworkManager keeps in the profile of a port of Open vSwitch does not go with it to a bond.
func TestAPortMovesFromOpenVSwitchToABond(t *testing.T) {
	s := &profile.Snapshot{}
	active(s, "nic1", profile.TypeEthernet, func(p profile.Settings) {
		p.Set("connection", "master", "nic1-port")
		p.Set("connection", "slave-type", profile.TypeOVSPort)
		p.Set(profile.TypeOVSInterface, "type", "system")
	})
	now, err := netstate.Decode([]byte("interfaces: [{name: nic1, type: ethernet, state: up}]"))
	require.NoError(t, err)
	c := changesOf(t, s, now, "interfaces: [{name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, port: [nic1]}}]")["nic1"]
	require.NotContains(t, c.After, profile.TypeOVSInterface)
	require.True(t, c.Moved)
}

// A link cannot carry more than its base. That of a bridge follows its ports.
func TestALinkThatCarriesMoreThanItsBaseIsRefused(t *testing.T) {
	s, now := onBridge(t)
	now.Interfaces[0].MTU, now.Interfaces[1].MTU = 1500, 1500
	plan := func(text string) error {
		want, err := netstate.Decode([]byte("interfaces: [" + text + "]"))
		require.NoError(t, err)
		require.NoError(t, netstate.Validate(want))
		_, err = New(want, now, s, false)
		return err
	}
	const vlan = "{name: br0.7, type: vlan, state: up, mtu: 9000, vlan: {id: 7, base-iface: br0}}"
	require.ErrorContains(t, plan(vlan), "interface br0.7: MTU 9000 is more than the 1500 of br0, which it stands on: give it 1500 at most")
	require.NoError(t, plan(vlan+", {name: br0, type: linux-bridge, state: up, mtu: 9000}"))
	require.NoError(t, plan(vlan+", {name: nic1, type: ethernet, state: up, mtu: 9000}"))
	require.NoError(t, plan("{name: br0.7, type: vlan, state: up, mtu: 1400, vlan: {id: 7, base-iface: br0}}"))
	require.NoError(t, plan("{name: br0.7, type: vlan, state: up, mtu: 9000, vlan: {id: 7, base-iface: new0}}, "+
		"{name: new0, type: dummy, state: up}"), "what is new is as the kernel makes it")
}
