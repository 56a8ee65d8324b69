package netstate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A bridge of Open vSwitch with a bond inside, a VLAN and an interface of its own name.
const ovsDocument = `
interfaces:
- name: br1
  type: ovs-bridge
  state: up
  bridge:
    options: {stp: false, fail-mode: standalone}
    port:
    - name: bond1
      link-aggregation: {mode: active-backup, port: [{name: eth1}, {name: eth2}]}
    - {name: br1}
    - {name: store, vlan: {mode: access, tag: 100}}
- {name: br1, type: ovs-interface, state: up, mtu: 1400, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
- {name: store, type: ovs-interface, state: up, ipv4: {enabled: true, dhcp: true}}
`

// TestOVSDocuments are valid, differ by what differs, and are in place when they are.
func TestOVSDocuments(t *testing.T) {
	want := parse(t, ovsDocument)
	require.NoError(t, Validate(want))
	none := parse(t, `interfaces: [{name: eth1, type: ethernet, state: up}, {name: eth2, type: ethernet, state: up}]`)
	all := Diff(none, want)
	for _, i := range want.Interfaces {
		_, found := all.Find(i.Name, i.Type)
		require.True(t, found, "%s %s is new", i.Type, i.Name)
	}
	now := Merge(none, want)
	require.Empty(t, Diff(now, want).Interfaces)
	require.Empty(t, Compare(want, now))

	other := parse(t, `interfaces: [{name: br1, type: ovs-interface, state: up, mtu: 9000}]`)
	differs := Diff(now, other)
	require.Len(t, differs.Interfaces, 1)
	require.Equal(t, TypeOVSInterface, differs.Interfaces[0].Type)
	require.Equal(t, 9000, differs.Interfaces[0].MTU)
	back := Revert(other, now)
	require.Len(t, back.Interfaces, 1)
	require.Equal(t, 1400, back.Interfaces[0].MTU)

	tagged := parse(t, `interfaces: [{name: br1, type: ovs-bridge, bridge: {port: [{name: br1}, {name: store, vlan: {mode: access, tag: 200}}]}}]`)
	require.NotEmpty(t, Compare(tagged, now), "another tag")
	for text, says := range map[string]string{
		`interfaces: [{name: br1, type: ovs-bridge, bridge: {port: [{name: a}, {name: a}]}}]`:                                         `port "a" is listed twice`,
		`interfaces: [{name: br1, type: ovs-bridge, ipv4: {enabled: true, dhcp: true}}]`:                                              "carries no addresses",
		`interfaces: [{name: i1, type: ovs-interface, bridge: {port: [{name: a}]}}]`:                                                  "interfaces[i1]",
		`interfaces: [{name: br1, type: ovs-bridge, bridge: {options: {fail-mode: open}}}]`:                                           `"open" is none of secure, standalone`,
		`interfaces: [{name: i1, type: ovs-interface, dpdk: {devargs: x}}]`:                                                           "dpdk",
		`interfaces: [{name: br1, type: ovs-bridge, bridge: {port: [{name: b, link-aggregation: {mode: lacp, port: [{name: c}]}}]}}]`: "needs two ports or more",
	} {
		require.ErrorContains(t, Validate(parse(t, text)), says, text)
	}
}

// TestABondInsideABridgeHasItsPortsInAnyOrder: Open vSwitch keeps none.
func TestABondInsideABridgeHasItsPortsInAnyOrder(t *testing.T) {
	now := parse(t, ovsDocument)
	other := parse(t, `interfaces: [{name: br1, type: ovs-bridge, bridge: {port: [{name: store, vlan: {mode: access, tag: 100}}, {name: br1},
  {name: bond1, link-aggregation: {mode: active-backup, port: [{name: eth2}, {name: eth1}]}}]}}]`)
	require.Empty(t, Compare(other, now))
	require.Empty(t, Diff(now, other).Interfaces)
}

// TestABridgeOfOpenVSwitchNeedsNoType where a bridge of the name is there, beside an interface of the name, too.
func TestABridgeOfOpenVSwitchNeedsNoType(t *testing.T) {
	now := parse(t, ovsDocument)
	for text, has := range map[string]string{
		"interfaces: [{name: br1, bridge: {port: []}}]":                             TypeOVSBridge,
		"interfaces: [{name: br1, bridge: {options: {stp: true}}}]":                 TypeOVSBridge,
		"interfaces: [{name: br1, mtu: 1300}]":                                      TypeOVSInterface,
		"interfaces: [{name: br1, ipv4: {enabled: true, dhcp: true, address: []}}]": TypeOVSInterface,
	} {
		differs := Diff(now, parse(t, text)).Interfaces
		require.NotEmpty(t, differs, text)
		require.Equal(t, "br1", differs[0].Name, text)
		require.Equal(t, has, differs[0].Type, text)
	}
	alone := parse(t, "interfaces: [{name: br2, type: ovs-bridge, state: up, bridge: {port: [{name: eth1}]}}]")
	require.Empty(t, Compare(parse(t, "interfaces: [{name: br2, state: up}]"), alone))
	require.Empty(t, Merge(alone, parse(t, "interfaces: [{name: br2, state: absent}]")).Interfaces)
	require.NotEmpty(t, Compare(parse(t, "interfaces: [{name: br2, bridge: {port: [{name: eth2}]}}]"), alone))
}
