package plan

import (
	"slices"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Planning is pure: these tests need no NetworkManager.

// node is a card eno1 with an active profile, as NetworkManager reports it.
func node(change func(profile.Settings)) *profile.Snapshot {
	s := profile.Settings{
		"connection": {
			"id": dbus.MakeVariant("eno1"), "uuid": dbus.MakeVariant("u1"), "type": dbus.MakeVariant(profile.TypeEthernet),
			"interface-name": dbus.MakeVariant("eno1"),
		},
		profile.TypeEthernet: {"wake-on-lan": dbus.MakeVariant(uint32(64))},
		"ipv4": {
			"method":       dbus.MakeVariant("manual"),
			"address-data": dbus.MakeVariant([]map[string]dbus.Variant{{"address": dbus.MakeVariant("192.0.2.10"), "prefix": dbus.MakeVariant(uint32(24)), "label": dbus.MakeVariant("eno1:1")}}),
			"addresses":    dbus.MakeVariant([][]uint32{{1, 2, 3}}),
			"gateway":      dbus.MakeVariant("192.0.2.1"),
			"dns-data":     dbus.MakeVariant([]string{"192.0.2.53"}),
			"dns":          dbus.MakeVariant([]uint32{1}),
		},
		"ipv6": {"method": dbus.MakeVariant("disabled")},
	}
	if change != nil {
		change(s)
	}
	return &profile.Snapshot{
		Devices:  []profile.Device{{Path: "/d/1", Name: "eno1", Kind: 1, State: profile.DeviceActivated, Active: &profile.Active{Path: "/a/1", Profile: "/p/1", UUID: "u1"}}},
		Profiles: []profile.Profile{{Path: "/p/1", Settings: s}},
	}
}

var observed = netstate.Document{
	Interfaces: []netstate.Interface{{
		Name: "eno1", Type: netstate.TypeEthernet, State: netstate.StateUp, MTU: 1500, MACAddress: "02:00:00:00:00:01",
		IPv4: &netstate.IP{Enabled: new(true), Addresses: []netstate.Address{{IP: "192.0.2.10", PrefixLength: 24}}}, IPv6: netstate.Disabled(),
	}},
	Routes: &netstate.Routes{Running: []netstate.Route{{Destination: "0.0.0.0/0", NextHopAddress: "192.0.2.1", NextHopInterface: "eno1", Metric: 100, TableID: 254}}},
	DNS:    &netstate.DNS{Running: &netstate.Resolver{Server: []string{"192.0.2.53"}}},
}

func planned(t *testing.T, s *profile.Snapshot, text string) *Plan {
	t.Helper()
	want, err := netstate.Decode([]byte(text))
	require.NoError(t, err)
	require.NoError(t, netstate.Validate(want))
	p, err := New(want, observed, s, false)
	require.NoError(t, err)
	return p
}

func refused(t *testing.T, s *profile.Snapshot, text string) error {
	t.Helper()
	want, err := netstate.Decode([]byte(text))
	require.NoError(t, err)
	_, err = New(want, observed, s, false)
	return err
}

func TestPlanEditsTheProfileThereIs(t *testing.T) {
	p := planned(t, node(nil), `
interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.77, prefix-length: 24}, {ip: 192.0.2.10, prefix-length: 24}]}}]
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, state: absent}, {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.254, metric: 48}]}
`)
	require.Len(t, p.Changes, 1)
	c := p.Changes[0]
	require.Equal(t, "u1", c.UUID)
	require.Equal(t, uint32(64), profile.Value[uint32](c.After, profile.TypeEthernet, "wake-on-lan"), "unknown settings stay")
	for _, gone := range []string{"addresses", "dns", "routes", "gateway"} {
		require.NotContains(t, c.After["ipv4"], gone)
	}
	addresses := c.After.Dicts("ipv4", "address-data")
	require.Len(t, addresses, 2)
	require.Equal(t, "192.0.2.77", profile.Get[string](addresses[0], "address"))
	require.Equal(t, "eno1:1", profile.Get[string](addresses[1], "label"), "an address that stays keeps its label")
	routes := c.After.Dicts("ipv4", "route-data")
	require.Len(t, routes, 1)
	require.Equal(t, "192.0.2.254", profile.Get[string](routes[0], "next-hop"))
	require.Equal(t, uint32(48), profile.Get[uint32](routes[0], "metric"))
	require.Contains(t, p.snap.Profiles[0].Settings["ipv4"], "gateway", "the snapshot is not written to")
}

func TestPlanOfWhatIsThere(t *testing.T) {
	p := planned(t, node(nil), `
interfaces: [{name: eno1, type: ethernet, state: up, mtu: 1500, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.10, prefix-length: 24}]}, ipv6: {enabled: false}}]
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, metric: 100, table-id: 254}]}
dns-resolver: {config: {server: [192.0.2.53]}}
`)
	require.Empty(t, p.Changes)
	require.Nil(t, p.Global)
}

func TestPlanRepairsWhatDrifted(t *testing.T) {
	s := node(nil)
	s.Devices[0].Active = nil
	p := planned(t, s, "interfaces: [{name: eno1, type: ethernet, state: up}]")
	require.Len(t, p.Changes, 1, "the profile is right, but not in force")
	require.False(t, p.Changes[0].Edited())
}

func TestPlanTurnsLeasedAddressesIntoFixedOnes(t *testing.T) {
	s := node(func(s profile.Settings) { s.Set("ipv4", "method", "auto"); s.Drop("ipv4", "address-data", "gateway") })
	p := planned(t, s, "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false}}]")
	require.Equal(t, "manual", profile.Value[string](p.Changes[0].After, "ipv4", "method"))
	require.Equal(t, "192.0.2.10", profile.Get[string](p.Changes[0].After.Dicts("ipv4", "address-data")[0], "address"))
}

func TestPlanOfAutomaticAddresses(t *testing.T) {
	p := planned(t, node(nil), "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true, autoconf: false}}]")
	require.Equal(t, "auto", profile.Value[string](p.Changes[0].After, "ipv4", "method"))
	require.Equal(t, "dhcp", profile.Value[string](p.Changes[0].After, "ipv6", "method"))
	require.NotContains(t, p.Changes[0].After["ipv4"], "address-data")
	require.ErrorContains(t, refused(t, node(nil), "interfaces: [{name: eno1, ipv6: {enabled: true, dhcp: false, autoconf: true}}]"), "autoconf without DHCP")
	p = planned(t, node(nil), "interfaces: [{name: eno1, ipv4: {enabled: true, dhcp: false, address: []}}]")
	require.Equal(t, "disabled", profile.Value[string](p.Changes[0].After, "ipv4", "method"), "no address is the same as none")
}

// A family that turns automatic is known to its network by the MAC address, where nothing says otherwise.
func TestPlanOfAnIdentity(t *testing.T) {
	const leased = "interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true, autoconf: true}}]"
	c := planned(t, node(nil), leased).Changes[0].After
	require.Equal(t, "mac", profile.Value[string](c, "ipv4", "dhcp-client-id"))
	require.Equal(t, "ll", profile.Value[string](c, "ipv6", "dhcp-duid"))
	require.Equal(t, "mac", profile.Value[string](c, "ipv6", "dhcp-iaid"))
	require.Equal(t, int32(0), profile.Value[int32](c, "ipv6", "addr-gen-mode"))
	c = planned(t, node(func(s profile.Settings) { s.Set("ipv4", "dhcp-client-id", "stable") }), leased).Changes[0].After
	require.Equal(t, "stable", profile.Value[string](c, "ipv4", "dhcp-client-id"))
	c = planned(t, node(nil), "interfaces: [{name: eno1, ipv4: {enabled: true, dhcp: true, dhcp-client-id: iaid+duid}}]").Changes[0].After
	require.Equal(t, "duid", profile.Value[string](c, "ipv4", "dhcp-client-id"))
	s := node(func(s profile.Settings) { s.Set("ipv4", "method", "auto") })
	c = planned(t, s, "interfaces: [{name: eno1, mtu: 1400, ipv4: {enabled: true, dhcp: true}}]").Changes[0].After
	require.NotContains(t, c["ipv4"], "dhcp-client-id", "it is automatic already, and known to its network")
}

func TestPlanDisablesAFamily(t *testing.T) {
	p := planned(t, node(nil), "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: false}}]")
	require.Equal(t, profile.Settings{"ipv4": {"method": dbus.MakeVariant("disabled")}}["ipv4"], p.Changes[0].After["ipv4"])
}

func TestPlanOfAVLAN(t *testing.T) {
	s := node(nil)
	vlan := profile.Settings{
		"connection":     {"id": dbus.MakeVariant("v"), "uuid": dbus.MakeVariant("u2"), "type": dbus.MakeVariant(profile.TypeVLAN), "interface-name": dbus.MakeVariant("eno1.100")},
		profile.TypeVLAN: {"id": dbus.MakeVariant(uint32(100)), "parent": dbus.MakeVariant("eno1")},
		"ipv4":           {"method": dbus.MakeVariant("disabled")}, "ipv6": {"method": dbus.MakeVariant("disabled")},
	}
	s.Profiles = append(s.Profiles, profile.Profile{Path: "/p/2", Settings: vlan})
	p := planned(t, s, "interfaces: [{name: eno1.100, type: vlan, state: up, vlan: {id: 200}, ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 24}]}}]")
	require.Equal(t, "u2", p.Changes[0].UUID, "an id alone relies on the profile of that name")
	require.Equal(t, "eno1", profile.Value[string](p.Changes[0].After, profile.TypeVLAN, "parent"))
	require.Equal(t, uint32(200), profile.Value[uint32](p.Changes[0].After, profile.TypeVLAN, "id"))
	require.True(t, p.Changes[0].Fresh, "the kernel cannot change a tag in place")

	p = planned(t, node(nil), `
interfaces:
- {name: eno1.5, type: vlan, state: up, vlan: {id: 5, base-iface: eno1}, ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 24}]}}
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: false}}
`)
	require.Equal(t, []string{"eno1", "eno1.5"}, []string{p.Changes[0].Iface, p.Changes[1].Iface}, "the base comes first")
	require.Nil(t, p.Changes[1].Before)
	require.ErrorContains(t, refused(t, node(nil), "interfaces: [{name: x.5, type: vlan, vlan: {id: 5}}]"), "a new vlan needs vlan.base-iface")
}

func TestPlanOfANewProfileWinsTheNextBoot(t *testing.T) {
	s := node(func(s profile.Settings) {
		s.Drop("connection", "interface-name") // "Wired connection 1": for any card
		s.Set("connection", "autoconnect-priority", int32(10))
	})
	p := planned(t, s, "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.77, prefix-length: 24}]}}]")
	require.Nil(t, p.Changes[0].Before, "a profile for any card is not edited")
	require.Equal(t, int32(11), p.Changes[0].After.Priority())
}

func TestPlanPrefersTheActiveProfile(t *testing.T) {
	s := node(nil)
	rival := s.Profiles[0].Settings.Clone()
	rival.Set("connection", "uuid", "u9")
	rival.Set("connection", "autoconnect-priority", int32(99))
	s.Profiles = append([]profile.Profile{{Path: "/p/9", Settings: rival}}, s.Profiles...)
	text := "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: false}}]"
	require.Equal(t, "u1", planned(t, s, text).Changes[0].UUID)
	s.Devices[0].Active = nil
	require.Equal(t, "u9", planned(t, s, text).Changes[0].UUID, "else the one that would boot")
}

func TestPlanOfTheResolver(t *testing.T) {
	text := func(servers string) string { return "dns-resolver: {config: {server: [" + servers + "]}}" }
	p := planned(t, node(nil), text("192.0.2.54, 192.0.2.53"))
	require.Equal(t, []string{"192.0.2.54", "192.0.2.53"}, profile.ServersOf(p.Changes[0].After, "ipv4"))
	p = planned(t, node(nil), text("'2001:db8::53'"))
	require.Equal(t, []string{"2001:db8::53"}, p.Global.Domains[profile.AnyDomain].Servers, "no interface has IPv6 enabled")
	p = planned(t, node(nil), text("192.0.2.54, '2001:db8::53', 192.0.2.53"))
	require.Empty(t, p.Changes)
	require.Equal(t, []string{"192.0.2.54", "2001:db8::53", "192.0.2.53"}, p.Global.Domains[profile.AnyDomain].Servers)

	s := node(nil)
	s.Global = profile.GlobalDNS{Options: []string{"rotate"}, Domains: map[string]profile.GlobalDomain{profile.AnyDomain: {Servers: []string{"192.0.2.99"}}}}
	p = planned(t, s, text("192.0.2.54"))
	require.Equal(t, []string{"192.0.2.54"}, p.Global.Domains[profile.AnyDomain].Servers, "it hides the profiles, so it has to change")
	require.Equal(t, []string{"rotate"}, p.Global.Options)
	require.Nil(t, planned(t, s, text("192.0.2.99")).Global)
}

// Servers that are global because no interface could have them go to the interface that the document gives addresses of their family.
func TestPlanMovesGlobalServersToAnInterface(t *testing.T) {
	s := node(nil)
	s.Global = profile.GlobalDNS{Domains: map[string]profile.GlobalDomain{profile.AnyDomain: {Servers: []string{"192.0.2.99"}}}}
	const servers = "dns-resolver: {config: {server: [192.0.2.99]}}"
	require.Nil(t, planned(t, s, servers).Global, "it is in place")
	p := planned(t, s, "interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}]\n"+servers)
	require.NotNil(t, p.Global)
	require.False(t, p.Global.Set())
	require.Equal(t, []string{"192.0.2.99"}, profile.ServersOf(p.Changes[0].After, "ipv4"))
	s.Global.Options = []string{"rotate"}
	p = planned(t, s, "interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}]\n"+servers)
	require.Nil(t, p.Global, "it says more than the document")
}

func TestPlanRefuses(t *testing.T) {
	unmanaged := node(nil)
	unmanaged.Devices[0].State = profile.DeviceUnmanaged
	require.ErrorContains(t, refused(t, unmanaged, "interfaces: [{name: eno1, ipv4: {enabled: false}}]"), "configured not to manage it")
	for text, want := range map[string]string{
		"interfaces: [{name: eno7, type: ethernet}]": "no such network card",
		"interfaces: [{name: eno7}]":                 "its type is not given",
		"interfaces: [{name: bond0, type: bond}]":    "a new bond needs link-aggregation.mode",
		"interfaces: [{name: br7, type: ovs-bridge, bridge: {port: [{name: b, link-aggregation: {mode: lacp, port: [{name: eno9}]}}]}}]": "there is no such interface",
		"interfaces: [{name: i7, type: ovs-interface, ipv4: {enabled: false}}]":                                                          "an ovs-interface is a port of an ovs-bridge",
		"routes: {config: [{destination: '::/0', next-hop-interface: eno7}]}":                                                            "routes through eno7",
	} {
		require.ErrorContains(t, refused(t, node(nil), text), want, text)
	}
}

// A port of a bridge of Open vSwitch that is neither described nor there is made as an internal interface, one that is there is not.
func TestPlanMakesInternalPorts(t *testing.T) {
	for doc, want := range map[string][]string{
		"interfaces: [{name: br7, type: ovs-bridge, bridge: {port: [{name: ovs0}, {name: eno1}]}}]":                                                    {"ovs0"},
		"interfaces: [{name: br7, type: ovs-bridge, bridge: {port: [{name: br7}]}}]":                                                                   {"br7"},
		"interfaces: [{name: br7, type: ovs-bridge, state: absent, bridge: {port: [{name: ovs0}]}}]":                                                   nil,
		"interfaces: [{name: br7, type: ovs-bridge, bridge: {port: [{name: b, link-aggregation: {mode: lacp, port: [{name: eno1}, {name: eno2}]}}]}}]": nil,
	} {
		asked, err := netstate.Decode([]byte(doc))
		require.NoError(t, err)
		resolved, err := Resolve(asked, observed)
		require.NoError(t, err)
		var made []string
		for _, i := range resolved.Interfaces[1:] {
			require.Equal(t, netstate.TypeOVSInterface, i.Type)
			made = append(made, i.Name)
		}
		require.Equal(t, want, made, doc)
	}
	resolved, err := Resolve(must(netstate.Decode([]byte("interfaces: [{name: br7, type: ovs-bridge, bridge: {port: [{name: ovs0}]}}]"))), observed)
	require.NoError(t, err)
	p, err := New(resolved, observed, node(nil), false)
	require.NoError(t, err)
	kinds := map[string]string{}
	for _, c := range p.Changes {
		kinds[c.After.Kind()] = c.Iface
	}
	require.Equal(t, map[string]string{profile.TypeOVSBridge: "br7", profile.TypeOVSPort: "ovs0", profile.TypeOVSInterface: "ovs0"}, kinds)
}

// Free-form columns of a card are those of a port of Open vSwitch: they go with the port, and with an empty order.
func TestPlanOfColumnsOfACard(t *testing.T) {
	const bridge = "interfaces: [{name: br7, type: ovs-bridge, bridge: {port: [{name: eno1}]}}, " +
		"{name: eno1, type: ethernet, ipv4: {enabled: false}, ovs-db: {other_config: {emc-insert-inv-prob: 90}}}]"
	p := planned(t, node(nil), bridge)
	at := slices.IndexFunc(p.Changes, func(c *Change) bool { return c.After.Kind() == profile.TypeEthernet })
	have := p.Changes[at].After
	require.Equal(t, map[string]string{"emc-insert-inv-prob": "90"}, profile.Value[map[string]string](have, profile.SectionOtherConfig, "data"))
	for doc, left := range map[string]map[string]string{
		"interfaces: [{name: eno1, type: ethernet, ovs-db: {other_config: {more: 1}}}]":     {"emc-insert-inv-prob": "90", "more": "1"},
		"interfaces: [{name: eno1, type: ethernet, ovs-db: {}}]":                            {},
		"interfaces: [{name: eno1, type: ethernet, ovs-db: {other_config: {}}}]":            {},
		"interfaces: [{name: eno1, type: ethernet, ovs-db: {external_ids: {}}, mtu: 1400}]": {"emc-insert-inv-prob": "90"},
		"interfaces: [{name: b0, type: bond, link-aggregation: {mode: '1', port: [eno1]}}]": nil,
	} {
		s := node(nil)
		s.Profiles[0].Settings = have
		c := planned(t, s, doc).Changes
		at := slices.IndexFunc(c, func(c *Change) bool { return c.Iface == "eno1" })
		require.Equal(t, left, profile.Value[map[string]string](c[at].After, profile.SectionOtherConfig, "data"), doc)
	}
	err := refused(t, node(nil), "interfaces: [{name: eno1, type: ethernet, ovs-db: {other_config: {a: b}}}]")
	require.ErrorContains(t, err, "interface eno1: ovs-db is for ports of an ovs-bridge")
}

func TestOldStyleServers(t *testing.T) {
	s := profile.Settings{"ipv4": {"dns": dbus.MakeVariant([]uint32{0x350200c0})}, "ipv6": {"dns": dbus.MakeVariant([][]byte{make([]byte, 15), append(make([]byte, 15), 1)})}}
	require.Equal(t, []string{"192.0.2.53"}, profile.ServersOf(s, "ipv4"))
	require.Equal(t, []string{"::1"}, profile.ServersOf(s, "ipv6"))
}
