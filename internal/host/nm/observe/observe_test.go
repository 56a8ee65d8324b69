package observe

import (
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// TestABridgeOfOpenVSwitchIsDescribed: its description is in the profile of the bridge, not of the interface that shares its name.
func TestABridgeOfOpenVSwitchIsDescribed(t *testing.T) {
	of := func(kind, text string) profile.Profile {
		s := profile.Settings{"connection": {
			"uuid": dbus.MakeVariant(kind), "type": dbus.MakeVariant(kind), "interface-name": dbus.MakeVariant("br1"),
		}}
		s.SetDescription(text)
		return profile.Profile{Settings: s}
	}
	bridges := []netstate.Interface{{Name: "br1", Type: netstate.TypeOVSBridge}, {Name: "br2", Type: netstate.TypeOVSBridge}}
	got := Interfaces(&kernel.State{}, &profile.Snapshot{Profiles: []profile.Profile{
		of(profile.TypeOVSInterface, "the interface"), of(profile.TypeOVSBridge, "the bridge"),
	}}, bridges)
	require.Equal(t, "the bridge", *got[0].Description)
	require.Nil(t, got[1].Description)
}

// TestAKeyFileTellsWhatNetworkManagerAloneKnows: observing quickly and thoroughly must give the same.
func TestAKeyFileTellsWhatNetworkManagerAloneKnows(t *testing.T) {
	p, ok := profile.FromKeyfile(`[connection]
uuid=u1
type=ethernet
lldp=1
[ipv4]
method=auto
may-fail=false
ignore-auto-dns=true
never-default=true
ignore-auto-routes=true
route-table=100
route-metric=77
dhcp-client-id=duid
dhcp-send-hostname=false
dhcp-hostname=node
[ipv6]
method=auto
addr-gen-mode=stable-privacy
dhcp-duid=stable-uuid
token=::7
`)
	require.True(t, ok)
	i := netstate.Interface{IPv4: &netstate.IP{Enabled: new(true), DHCP: new(true)}, IPv6: &netstate.IP{Enabled: new(true), DHCP: new(true)}}
	fillFromProfile(&i, p.Settings)
	want, err := netstate.Decode([]byte(`
interfaces:
- name: x
  lldp: {enabled: true}
  wait-ip: ipv4
  ipv4: {enabled: true, dhcp: true, auto-dns: false, auto-gateway: false, auto-routes: false, auto-route-table-id: 100, auto-route-metric: 77,
    dhcp-client-id: iaid+duid, dhcp-send-hostname: false, dhcp-custom-hostname: node}
  ipv6: {enabled: true, dhcp: true, auto-dns: true, auto-gateway: true, auto-routes: true, auto-route-table-id: 0, dhcp-duid: uuid,
    dhcp-send-hostname: true, dhcp-custom-hostname: '', addr-gen-mode: stable-privacy, token: '::7'}
`))
	require.NoError(t, err)
	i.Name = "x"
	require.Equal(t, want.Interfaces[0], i)
}

// TestABridgeOfOpenVSwitchWithoutPortsIsShown: Open vSwitch has no row of it, and its profile is in force all the same.
func TestABridgeOfOpenVSwitchWithoutPortsIsShown(t *testing.T) {
	of := func(text string) profile.Profile {
		p, ok := profile.FromKeyfile(text)
		require.True(t, ok)
		return p
	}
	bridge := func(name, more string) profile.Profile {
		return of("[connection]\nuuid=u-" + name + "\ntype=ovs-bridge\ninterface-name=" + name + "\n" + more)
	}
	s := &profile.Snapshot{Profiles: []profile.Profile{
		bridge("br1", "[ovs-bridge]\nstp-enable=true\nfail-mode=standalone\n"), bridge("br2", ""), bridge("br3", "autoconnect=false\n"), bridge("br4", ""),
		of("[connection]\nuuid=p\ntype=ovs-port\ninterface-name=nic1\nmaster=u-br2\nslave-type=ovs-bridge\n"),
	}}
	got := Interfaces(&kernel.State{}, s, []netstate.Interface{{Name: "br4", Type: netstate.TypeOVSBridge}})
	require.Len(t, got, 2, "the one in the database, and the one that waits for a port: %+v", got)
	want, err := netstate.Decode([]byte(`
interfaces: [{name: br1, type: ovs-bridge, state: up, bridge: {options: {stp: true, fail-mode: standalone, datapath: system}, port: []}}]`))
	require.NoError(t, err)
	require.Equal(t, "br1", got[1].Name)
	require.Empty(t, netstate.Verify(want, netstate.Document{Interfaces: got}))
}
