package netstate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatADocumentDropsIsRestoredByKey: before is the network without the document, last the document that is in force, next its
// successor. With what it dropped, next gives what it says, and what was there before for everything else.
func TestWhatADocumentDropsIsRestoredByKey(t *testing.T) {
	const before = `
interfaces:
- {name: eth1, type: ethernet, state: up, mtu: 1500, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.1, prefix-length: 24}]}, ipv6: {enabled: false}}
- {name: eth2, type: ethernet, state: up, mtu: 1500, ipv4: {enabled: false}, ipv6: {enabled: false}}
routes: {config: [{destination: 203.0.113.0/24, next-hop-interface: eth1, next-hop-address: 192.0.2.9}]}
dns-resolver: {config: {server: [192.0.2.53], search: [old.example]}}
`
	for name, c := range map[string]struct{ last, next, want string }{
		"a key": {
			`interfaces: [{name: eth1, type: ethernet, mtu: 9000, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.7, prefix-length: 24}]}}]`,
			`interfaces: [{name: eth1, type: ethernet, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.7, prefix-length: 24}]}}]`,
			`interfaces: [{name: eth1, type: ethernet, mtu: 1500}]`},
		"a family": {
			`interfaces: [{name: eth1, type: ethernet, mtu: 9000, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.7, prefix-length: 24}]}}]`,
			`interfaces: [{name: eth1, type: ethernet, mtu: 9000}]`,
			`interfaces: [{name: eth1, type: ethernet, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.1, prefix-length: 24}]}}]`},
		"an interface": {
			`interfaces: [{name: eth1, type: ethernet, mtu: 9000}, {name: eth2, type: ethernet, mtu: 9000}]`,
			`interfaces: [{name: eth1, type: ethernet, mtu: 9000}]`,
			`interfaces: [{name: eth2, type: ethernet, state: up, mtu: 1500}]`},
		"an interface of its own": {
			`interfaces: [{name: eth2.7, type: vlan, state: up, vlan: {base-iface: eth2, id: 7}}, {name: eth1, type: ethernet, mtu: 9000}]`,
			`interfaces: [{name: eth1, type: ethernet, mtu: 9000}]`,
			`interfaces: [{name: eth2.7, type: vlan, state: absent}]`},
		"a family of its own interface": {
			`interfaces: [{name: eth2.7, type: vlan, state: up, vlan: {base-iface: eth2, id: 7}, ipv4: {enabled: true, dhcp: true}}]`,
			`interfaces: [{name: eth2.7, type: vlan, state: up, vlan: {base-iface: eth2, id: 7}}]`,
			`interfaces: [{name: eth2.7, type: vlan, ipv4: {enabled: false}}]`},
		"a route": {
			`routes: {config: [{destination: 198.51.100.0/24, next-hop-interface: eth1, next-hop-address: 192.0.2.8}]}`,
			`routes: {config: []}`,
			`routes: {config: [{destination: 198.51.100.0/24, next-hop-interface: eth1, next-hop-address: 192.0.2.8, table-id: 254, state: absent}]}`},
		"the removal of a route": {
			`routes: {config: [{next-hop-interface: eth1, state: absent}]}`, `{}`,
			`routes: {config: [{destination: 203.0.113.0/24, next-hop-interface: eth1, next-hop-address: 192.0.2.9}]}`},
		"a list of the resolver": {
			`dns-resolver: {config: {server: [192.0.2.54], search: [new.example]}}`,
			`dns-resolver: {config: {server: [192.0.2.54]}}`,
			`dns-resolver: {config: {search: [old.example]}}`},
		"nothing": {`interfaces: [{name: eth1, type: ethernet, mtu: 9000}]`, `interfaces: [{name: eth1, type: ethernet, mtu: 8000}]`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			was, last, next := parse(t, before), parse(t, c.last), parse(t, c.next)
			back := Revert(last, was)
			dropped := Dropped(back, last, next)
			require.Equal(t, written(t, parse(t, c.want).Canonical()), written(t, dropped.Canonical()))

			now := Merge(was, last)
			then := Merge(now, With(next, dropped))
			if then.DNS != nil {
				then.DNS.Running = then.DNS.Config
			}
			require.Empty(t, Compare(next, then), "what the document says")
			require.Empty(t, Compare(dropped, then), "what it said")
			again := Dropped(Without(back, dropped), last, next)
			require.Equal(t, name == "a family of its own interface", len(again.Interfaces) > 0, "once, but for what has no former value")
			require.Nil(t, again.Routes)
			require.Nil(t, again.DNS)
		})
	}
}

// TestTheEarlierWayBackWinsKeyByKey: a later change of another key of the same interface is part of the way back.
func TestTheEarlierWayBackWinsKeyByKey(t *testing.T) {
	combined := Combine(parse(t, `interfaces: [{name: eth1, type: ethernet, state: up, mtu: 1500}]`),
		parse(t, `interfaces: [{name: eth1, type: ethernet, state: up, mtu: 9000, ipv4: {enabled: false}}]`))
	require.Equal(t, written(t, parse(t, `interfaces: [{name: eth1, type: ethernet, state: up, mtu: 1500, ipv4: {enabled: false}}]`)), written(t, combined))
	absent := Combine(parse(t, `interfaces: [{name: eth1.7, type: vlan, state: absent}]`),
		parse(t, `interfaces: [{name: eth1.7, type: vlan, state: up, mtu: 9000}]`))
	require.Equal(t, written(t, parse(t, `interfaces: [{name: eth1.7, type: vlan, state: absent}]`)), written(t, absent))
}
