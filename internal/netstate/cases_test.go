package netstate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// machine is what the cases start from.
const machine = `
hostname: {running: node-a.example.net, config: node-a.example.net}
dns-resolver: {running: {server: [192.0.2.53, '2001:db8::53']}, config: {server: [192.0.2.53, '2001:db8::53'], search: [example.net]}}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, table-id: 254, metric: 100}
  - {destination: 198.51.100.0/24, next-hop-interface: eno2, next-hop-address: 10.0.0.1, table-id: 254}
route-rules:
  config:
  - {ip-from: 192.0.2.0/24, route-table: 200, priority: 1000}
  - {ip-to: '2001:db8:b::/64', route-table: 201, priority: 1001}
ovn: {bridge-mappings: [{localnet: blue, bridge: br-ex}]}
ovs-db: {external_ids: {system-id: a, colour: green}}
interfaces:
- name: eno1
  type: ethernet
  state: up
  mtu: 1500
  mac-address: 52:54:00:00:00:01
  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.10, prefix-length: 24}]}
  ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: '2001:db8::10', prefix-length: 64}, {ip: 'fe80::1', prefix-length: 64}]}
- name: eno2
  type: ethernet
  state: up
  mtu: 1500
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.0.0.2, prefix-length: 24}]}
  ipv6: {enabled: false}
- {name: eno3, type: ethernet, state: up, mtu: 1500, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: eno4, type: ethernet, state: up, mtu: 1500, ipv4: {enabled: true, dhcp: true, auto-dns: true, auto-gateway: true, auto-routes: true, address: [{ip: 203.0.113.9, prefix-length: 24, valid-life-time: 100sec}]}, ipv6: {enabled: false}}
- {name: veth1, type: veth, state: up, veth: {peer: veth2}, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, options: {miimon: 100, updelay: 0}, port: [eno3]}, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: eno2.7, type: vlan, state: up, vlan: {base-iface: eno2, id: 7}, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: blue, type: vrf, state: up, vrf: {port: [veth1], route-table-id: 100}}
`

// apply is what a document means on the machine: what it changes, and what takes that back.
var changes = map[string]struct{ want, diff, revert string }{
	"nothing, spelt otherwise": {
		want: `
dns-resolver: {config: {server: [192.0.2.53, '2001:0db8:0::53']}}
routes: {config: [{destination: 198.51.100.7/24, next-hop-interface: eno2, next-hop-address: 10.0.0.1}]}
route-rules: {config: [{ip-from: 192.0.2.9/24, route-table: 200}]}
interfaces:
- {name: eno1, type: ethernet, mac-address: 52:54:00:00:00:01, ipv6: {enabled: true, address: [{ip: '2001:DB8:0::10', prefix-length: 64}]}}
- {name: bond0, type: bond, link-aggregation: {mode: 1, options: {updelay: "0"}}}`,
	},
	"an MTU": {
		want:   `interfaces: [{name: eno3, type: ethernet, mtu: 9000}]`,
		diff:   `interfaces: [{name: eno3, type: ethernet, state: up, mtu: 9000}]`,
		revert: `interfaces: [{name: eno3, type: ethernet, state: up, mtu: 1500}]`,
	},
	"a new dummy": {
		want:   `interfaces: [{name: d0, type: dummy, ipv4: {enabled: true, address: [{ip: 10.9.0.1, prefix-length: 24}]}}]`,
		diff:   `interfaces: [{name: d0, type: dummy, state: up, ipv4: {enabled: true, address: [{ip: 10.9.0.1, prefix-length: 24}]}}]`,
		revert: `interfaces: [{name: d0, type: dummy, state: absent}]`,
	},
	"the id of a VLAN": {
		want:   `interfaces: [{name: eno2.7, type: vlan, vlan: {base-iface: eno2, id: 8}}]`,
		diff:   `interfaces: [{name: eno2.7, type: vlan, state: up, vlan: {id: 8}}]`,
		revert: `interfaces: [{name: eno2.7, type: vlan, state: up, vlan: {id: 7}}]`,
	},
	"an option of a bond": {
		want:   `interfaces: [{name: bond0, type: bond, link-aggregation: {options: {miimon: 140, updelay: 0}}}]`,
		diff:   `interfaces: [{name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, options: {miimon: 140}}}]`,
		revert: `interfaces: [{name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, options: {miimon: 100}}}]`,
	},
	"the order of DNS servers": {
		want:   `dns-resolver: {config: {server: ['2001:db8::53', 192.0.2.53]}}`,
		diff:   `dns-resolver: {config: {server: ['2001:db8::53', 192.0.2.53]}}`,
		revert: `dns-resolver: {config: {server: [192.0.2.53, '2001:db8::53']}}`,
	},
	"no DNS": {
		want:   `dns-resolver: {config: {}}`,
		diff:   `dns-resolver: {config: {}}`,
		revert: `dns-resolver: {config: {server: [192.0.2.53, '2001:db8::53'], search: [example.net]}}`,
	},
	"another gateway": {
		want: `
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: eno1, state: absent}, {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.254}]}`,
		diff: `
routes: {config: [{state: absent, destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, table-id: 254},
  {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.254, table-id: 254}]}`,
		revert: `
routes: {config: [{state: absent, destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.254, table-id: 254},
  {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, metric: 100, table-id: 254}]}`,
	},
	"all routes of an interface": {
		want:   `routes: {config: [{next-hop-interface: eno2, state: absent}]}`,
		diff:   `routes: {config: [{state: absent, destination: 198.51.100.0/24, next-hop-interface: eno2, next-hop-address: 10.0.0.1, table-id: 254}]}`,
		revert: `routes: {config: [{destination: 198.51.100.0/24, next-hop-interface: eno2, next-hop-address: 10.0.0.1, table-id: 254}]}`,
	},
	"a rule instead of another": {
		want: `
route-rules: {config: [{ip-from: 192.0.2.0/24, state: absent}, {ip-to: 192.0.2.0/24, route-table: 200, priority: 1000}]}`,
		diff: `
route-rules: {config: [{state: absent, family: ipv4, ip-from: 192.0.2.0/24, ip-to: '', route-table: 200, priority: 1000},
  {family: ipv4, ip-to: 192.0.2.0/24, route-table: 200, priority: 1000}]}`,
		revert: `
route-rules: {config: [{state: absent, family: ipv4, ip-from: '', ip-to: 192.0.2.0/24, route-table: 200, priority: 1000},
  {family: ipv4, ip-from: 192.0.2.0/24, route-table: 200, priority: 1000}]}`,
	},
	"the addresses move to a bridge": {
		want: `
interfaces:
- {name: br0, type: linux-bridge, bridge: {port: [{name: eno1}]}, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}`,
		diff: `
routes: {config: [{state: absent, destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, table-id: 254}]}
interfaces:
- {name: br0, type: linux-bridge, state: up, bridge: {port: [{name: eno1}]}, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}`,
		revert: `
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, metric: 100, table-id: 254}]}
interfaces:
- {name: br0, type: linux-bridge, state: absent}
- name: eno1
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.10, prefix-length: 24}]}
  ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: '2001:db8::10', prefix-length: 64}]}`,
	},
	"a port of a vrf keeps its addresses": {
		want:   `interfaces: [{name: blue, type: vrf, vrf: {port: [eno2, veth1], route-table-id: 100}}]`,
		diff:   `interfaces: [{name: blue, type: vrf, state: up, vrf: {port: [eno2, veth1]}}]`,
		revert: `interfaces: [{name: blue, type: vrf, state: up, vrf: {port: [veth1]}}]`,
	},
	"a port by the short way": {
		want:   `interfaces: [{name: eno2, type: ethernet, controller: blue}]`,
		diff:   `interfaces: [{name: blue, type: vrf, state: up, vrf: {port: [eno2, veth1]}}]`,
		revert: `interfaces: [{name: blue, type: vrf, state: up, vrf: {port: [veth1]}}]`,
	},
	"DHCP off keeps the leased address": {
		want:   `interfaces: [{name: eno4, type: ethernet, ipv4: {dhcp: false}}]`,
		diff:   `interfaces: [{name: eno4, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.113.9, prefix-length: 24}]}}]`,
		revert: `interfaces: [{name: eno4, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, auto-dns: true, auto-gateway: true, auto-routes: true}}]`,
	},
	"DHCP on, where enabled is what it was": {
		want: `interfaces: [{name: eno2, type: ethernet, ipv4: {dhcp: true, auto-dns: false}}]`,
		diff: `interfaces: [{name: eno2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, auto-dns: false, auto-gateway: true, auto-routes: true}}]
routes: {config: [{destination: 198.51.100.0/24, next-hop-interface: eno2, next-hop-address: 10.0.0.1, table-id: 254, state: absent}]}`,
		revert: `interfaces: [{name: eno2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 10.0.0.2, prefix-length: 24}]}}]
routes: {config: [{destination: 198.51.100.0/24, next-hop-interface: eno2, next-hop-address: 10.0.0.1, table-id: 254}]}`,
	},
	"no address at all": {
		want:   `interfaces: [{name: eno2, type: ethernet, ipv4: {enabled: true, address: []}}]`,
		diff:   `interfaces: [{name: eno2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: []}}]`,
		revert: `interfaces: [{name: eno2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 10.0.0.2, prefix-length: 24}]}}]`,
	},
	"a family that turns automatic loses its routes": {
		want: `interfaces: [{name: eno2, type: ethernet, ipv4: {enabled: true, dhcp: true}}]`,
		diff: `
interfaces: [{name: eno2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, auto-dns: true, auto-gateway: true, auto-routes: true}}]
routes: {config: [{destination: 198.51.100.0/24, next-hop-interface: eno2, next-hop-address: 10.0.0.1, table-id: 254, state: absent}]}`,
		revert: `
interfaces: [{name: eno2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 10.0.0.2, prefix-length: 24}]}}]
routes: {config: [{destination: 198.51.100.0/24, next-hop-interface: eno2, next-hop-address: 10.0.0.1, table-id: 254}]}`,
	},
	"a family that turns automatic without routes keeps its own": {
		want:   `interfaces: [{name: eno2, type: ethernet, ipv4: {enabled: true, dhcp: true, auto-routes: false}}]`,
		diff:   `interfaces: [{name: eno2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, auto-dns: true, auto-gateway: true, auto-routes: false}}]`,
		revert: `interfaces: [{name: eno2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 10.0.0.2, prefix-length: 24}]}}]`,
	},
	"an absent pair": {
		want: `interfaces: [{name: veth1, type: ethernet, state: absent}]`,
		diff: `interfaces: [{name: veth1, type: veth, state: absent}]`,
		revert: `
interfaces:
- {name: veth1, type: veth, state: up, veth: {peer: veth2}, ipv4: {enabled: false}, ipv6: {enabled: false}}`,
	},
	"a card by its MAC address": {
		want:   `interfaces: [{name: uplink, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01', mtu: 1400}]`,
		diff:   `interfaces: [{name: uplink, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:01', mtu: 1400}]`,
		revert: `interfaces: [{name: eno1, type: ethernet, state: up, mtu: 1500}]`,
	},
	"a host name": {
		want: `hostname: {config: other}`, diff: `hostname: {config: other}`, revert: `hostname: {config: node-a.example.net}`,
	},
	"mappings and columns": {
		want:   "ovn: {bridge-mappings: [{localnet: red, bridge: br1}, {localnet: blue, state: absent}]}\novs-db: {external_ids: {colour: null, size: '2'}}",
		diff:   "ovn: {bridge-mappings: [{localnet: blue, state: absent}, {localnet: red, bridge: br1}]}\novs-db: {external_ids: {colour: null, size: '2'}}",
		revert: "ovn: {bridge-mappings: [{localnet: red, state: absent}, {localnet: blue, bridge: br-ex}]}\novs-db: {external_ids: {colour: green, size: null}}",
	},
	"an empty column": {
		want: `ovs-db: {external_ids: {}}`, diff: `ovs-db: {external_ids: {system-id: null, colour: null}}`,
		revert: `ovs-db: {external_ids: {system-id: a, colour: green}}`,
	},
	"no column at all": {
		want: `ovs-db: {}`, diff: `ovs-db: {external_ids: {system-id: null, colour: null}}`,
		revert: `ovs-db: {external_ids: {system-id: a, colour: green}}`,
	},
	"another empty column": {want: `ovs-db: {other_config: {}}`},
	"what is ignored":      {want: `interfaces: [{name: eno3, state: ignore, mtu: 9000}]`},
}

func TestChanges(t *testing.T) {
	now := parse(t, machine)
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			want := parse(t, c.want)
			require.NoError(t, Validate(want))
			require.Equal(t, written(t, parse(t, c.diff).Canonical()), written(t, Diff(now, want).Canonical()))
			back := Revert(want, now)
			require.Equal(t, written(t, parse(t, c.revert).Canonical()), written(t, back.Canonical()))
		})
	}
}

func written(t testing.TB, d Document) string {
	for n, i := range d.Interfaces {
		if i.Identifier == IdentifierMAC {
			d.Interfaces[n].State = StateUp
		}
	}
	out, err := d.Encode()
	require.NoError(t, err)
	return string(out)
}
