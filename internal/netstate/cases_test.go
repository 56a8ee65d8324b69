package netstate

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/topo"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
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
		want:   `interfaces: [{name: eno2, type: ethernet, ipv4: {dhcp: true, auto-dns: false}}]`,
		diff:   `interfaces: [{name: eno2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, auto-dns: false, auto-gateway: true, auto-routes: true}}]`,
		revert: `interfaces: [{name: eno2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 10.0.0.2, prefix-length: 24}]}}]`,
	},
	"no address at all": {
		want:   `interfaces: [{name: eno2, type: ethernet, ipv4: {enabled: true, address: []}}]`,
		diff:   `interfaces: [{name: eno2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: []}}]`,
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
	"what is ignored": {want: `interfaces: [{name: eno3, state: ignore, mtu: 9000}]`},
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

func TestPortsChangeHands(t *testing.T) {
	now := parse(t, machine)
	after := Merge(now, parse(t, "interfaces: [{name: br0, type: linux-bridge, bridge: {port: [{name: eno3}]}}]"))
	bond, _ := after.Find("bond0", "")
	require.Empty(t, bond.Bond.Ports, "a port has one controller")
	port, _ := after.Find("eno3", "")
	require.Equal(t, "br0", *port.Controller)
	after = Merge(after, parse(t, "interfaces: [{name: br0, state: absent}, {name: bond0, type: bond, link-aggregation: {port: [eno3]}}]"))
	_, ok := after.Find("br0", "")
	require.False(t, ok)
	port, _ = after.Find("eno3", "")
	require.Equal(t, "bond0", *port.Controller)
	after = Merge(after, parse(t, "interfaces: [{name: bond0, type: bond, link-aggregation: {port: []}}]"))
	port, _ = after.Find("eno3", "")
	require.Nil(t, port.Controller)
}

func TestWhatRestsOnAVirtualLinkGoesWithIt(t *testing.T) {
	now := parse(t, machine+"- {name: bond0.5, type: vlan, state: up, vlan: {base-iface: bond0, id: 5}}\n- {name: mv, type: mac-vlan, state: up, mac-vlan: {base-iface: bond0.5, mode: vepa}}\n")
	after := Merge(now, parse(t, "interfaces: [{name: bond0, state: absent}]"))
	for _, name := range []string{"bond0", "bond0.5", "mv"} {
		_, ok := after.Find(name, "")
		require.False(t, ok, name)
	}
	after = Merge(now, parse(t, "interfaces: [{name: eno2, state: absent}]"))
	_, ok := after.Find("eno2.7", "")
	require.True(t, ok, "a card stays, and with it what rests on it")
	require.NotContains(t, fmt.Sprint(after.Routes.Config), "eno2", "its routes go with its addresses")
}

func TestABridgeAndItsPortShareAName(t *testing.T) {
	doc := parse(t, `
interfaces:
- {name: br-ex, type: ovs-bridge, bridge: {allow-extra-patch-ports: true, port: [{name: eno1}, {name: br-ex}]}}
- {name: br-ex, type: ovs-interface, copy-mac-from: eno1, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
- {name: eno1, type: ethernet, ipv4: {enabled: false}}`)
	require.NoError(t, Validate(doc))
	after := Merge(parse(t, machine), doc)
	i, _ := after.Find("br-ex", TypeOVSInterface)
	require.True(t, i.IPv4.On(), "a port of its own kind keeps its addresses")
	require.Equal(t, "br-ex", *i.Controller)
	b, _ := after.Find("br-ex", TypeOVSBridge)
	require.Nil(t, b.Controller)
	order, err := Order(doc.Interfaces)
	require.NoError(t, err)
	require.Equal(t, TypeOVSBridge, order[0].Type)
	require.Empty(t, Verify(doc, after))
}

func TestTrunksAreInheritedPerPort(t *testing.T) {
	now := parse(t, `
interfaces:
- {name: br0, type: linux-bridge, state: up, bridge: {options: {stp: {enabled: false, priority: 8}}, port: [{name: a, stp-priority: 3, vlan: {mode: access, tag: 7}}, {name: b}]}}`)
	after := Merge(now, parse(t, "interfaces: [{name: br0, type: linux-bridge, bridge: {options: {stp: {enabled: true}}, port: [{name: c}, {name: a, stp-path-cost: 9}]}}]"))
	want := parse(t, `
interfaces:
- {name: br0, type: linux-bridge, state: up, bridge: {options: {stp: {enabled: true, priority: 8}}, port: [{name: a, stp-path-cost: 9, stp-priority: 3, vlan: {mode: access, tag: 7}}, {name: c}]}}`)
	require.Equal(t, written(t, want.Canonical()), written(t, after.Canonical()))
}

// Five levels, from the worst order: a sort finds the way whatever the order, counting rounds does not.
func TestNestingOfAnyDepthIsOrdered(t *testing.T) {
	levels := parse(t, `
interfaces:
- {name: v9, type: vlan, vlan: {id: 9, base-iface: br9}}
- {name: eno1, type: ethernet}
- {name: eno2, type: ethernet}
- {name: br9, type: linux-bridge, bridge: {port: [{name: bond9.4}]}}
- {name: bond9, type: bond, link-aggregation: {mode: balance-rr, port: [eno1, eno2]}}
- {name: bond9.4, type: vlan, vlan: {id: 4, base-iface: bond9}}
- {name: mv9, type: mac-vlan, mac-vlan: {base-iface: v9, mode: vepa}}`)
	order, err := Order(levels.Interfaces)
	require.NoError(t, err)
	place := map[string]int{}
	for n, i := range order {
		place[i.Name] = n
	}
	for _, pair := range [][2]string{{"bond9", "eno1"}, {"bond9", "bond9.4"}, {"br9", "bond9.4"}, {"br9", "v9"}, {"v9", "mv9"}} {
		require.Less(t, place[pair[0]], place[pair[1]], pair)
	}
	loop := parse(t, "interfaces: [{name: a, type: vlan, vlan: {id: 1, base-iface: b}}, {name: b, type: vlan, vlan: {id: 2, base-iface: a}}]")
	_, err = Order(loop.Interfaces)
	var cycle *topo.CycleError
	require.True(t, errors.As(err, &cycle))
	require.ErrorContains(t, Validate(loop), "interfaces: a needs itself: a -> b -> a")
}

func TestRulesMatchByWhatIsMentioned(t *testing.T) {
	rules := parse(t, `
route-rules: {config: [{ip-from: 192.0.2.0/24, route-table: 7}, {ip-to: 192.0.2.0/24, route-table: 7}, {family: ipv4, fwmark: 31, fwmask: 0xff, route-table: 7}, {family: ipv6, route-table: 8, suppress-prefix-length: 0}]}`).RouteRules.Config
	for order, left := range map[string]int{
		"{route-table: 7}": 1, "{route-table: 7, ip-from: ''}": 2, "{route-table: 7, ip-from: '', ip-to: ''}": 3, "{family: ipv6}": 3,
		"{fwmark: '0x1f'}": 3, "{ip-from: 192.0.2.77/24}": 3, "{suppress-prefix-length: 0}": 3, "{priority: 9}": 4,
	} {
		doc := parse(t, "route-rules: {config: ["+strings.TrimSuffix(order, "}")+", state: absent}]}")
		require.Len(t, MergeRules(rules, doc.RouteRules.Config), left, order)
	}
	require.Len(t, MergeRules(rules, rules), 4, "what is there is not added again")
}

func TestCompareIsStructured(t *testing.T) {
	now := parse(t, machine)
	got := Compare(parse(t, `
interfaces:
- {name: eno1, type: ethernet, mtu: 9000, ipv4: {enabled: true, allow-extra-address: false, address: []}}
- {name: bond0, type: bond, link-aggregation: {mode: 802.3ad, options: {miimon: 140, resend_igmp: 3}, port: [eno2]}}
- {name: nobody, type: dummy}
- {name: veth1, type: ethernet, veth: {peer: veth3}}
route-rules: {config: [{ip-from: 192.0.2.0/24, state: absent}, {ip-from: 10.0.0.0/8, route-table: 3}]}`), now)
	var lines []string
	for _, m := range got {
		lines = append(lines, fmt.Sprintf("%s|%s|%s|%s", m.Interface, m.Path, m.Want, m.Got))
	}
	require.Equal(t, []string{
		"eno1|interfaces[eno1].mtu|9000|1500",
		"eno1|interfaces[eno1].ipv4.address|[]|192.0.2.10/24",
		"bond0|interfaces[bond0].link-aggregation.mode|802.3ad|active-backup",
		"bond0|interfaces[bond0].link-aggregation.options.miimon|140|100",
		"bond0|interfaces[bond0].link-aggregation.port|[eno2]|[eno3]",
		"nobody|interfaces[nobody]|exists|does not exist",
		"veth1|interfaces[veth1].veth.peer|veth3|veth2",
		"|route-rules.config|nothing|from 192.0.2.0/24 lookup 200 priority 1000",
		"|route-rules.config|from 10.0.0.0/8 lookup 3|nothing",
	}, lines)
}

func TestTheDecoderTakesWhatTemplatesWrite(t *testing.T) {
	d := parse(t, strings.ReplaceAll(`
interfaces:
- {name: 0b10, type: ethernet, mtu: "1500", accept-all-mac-addresses: "yes", ipv4: {enabled: 1, dhcp: 'False'}}
- {name: 1e5, type: bond, link-aggregation: {mode: 4, options: {miimon: "100", all_slaves_active: 0}, slaves: [a]}}
- {name: gone, type: bond, state: absent, link-aggregation: {mode: nonsense, whatever: [1]}}
- {name: b1, type: ovs-bridge, bridge: {options: {stp: true}}}
route-rules: {config: [{fwmark: 0x1F, fwmask: "255", family: ipv4}]}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: 0b10, metric: -1, table-id: "0x10"}]}
`, ", type: ovs-bridge", ",\u00a0type: ovs-bridge"))
	require.Equal(t, "0b10", d.Interfaces[0].Name)
	require.Equal(t, 1500, d.Interfaces[0].MTU)
	require.True(t, *d.Interfaces[0].AcceptAll)
	require.True(t, d.Interfaces[0].IPv4.On())
	require.Equal(t, "1e5", d.Interfaces[1].Name)
	require.Equal(t, []string{"a"}, d.Interfaces[1].Bond.Ports)
	require.Equal(t, Options{"miimon": "100", "all_slaves_active": "0"}, d.Interfaces[1].Bond.Options)
	require.Nil(t, d.Interfaces[2].Bond, "nothing of an absent interface counts")
	require.True(t, *d.Interfaces[3].Bridge.Options.STP.Enabled)
	require.Equal(t, Mark(31), *d.RouteRules.Config[0].FwMark)
	require.Equal(t, Mark(255), *d.RouteRules.Config[0].FwMask)
	require.Zero(t, d.Routes.Config[0].Metric)
	require.Equal(t, 16, d.Routes.Config[0].TableID)
	text, err := d.Encode()
	require.NoError(t, err)
	again := parse(t, string(text))
	require.Equal(t, d, again)
}

func TestTheDecoderRefusesWithPathAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"interfaces: [{name: a, mtuu: 3}]":                                   `line 1: interfaces[a].mtuu: unknown key; did you mean "mtu"?`,
		"interfaces:\n- name: a\n  ipv4:\n    addressing: []":                `line 4: interfaces[a].ipv4.addressing: unknown key`,
		"interfaces: [{name: a, ipv4: {address: [{ip: x, prefix: 1}]}}]":     "interfaces[a].ipv4.address[0].prefix: unknown key",
		"interfaces: {name: a}":                                              "interfaces: must be a list, not a set of keys",
		"interfaces: [a]":                                                    `interfaces[0]: must be a set of keys, not "a"`,
		"interfaces: [{name: a, ipv4: true}]":                                `interfaces[a].ipv4: must be a set of keys, not "true"`,
		"interfaces: [{name: a, mtu: [1]}]":                                  "interfaces[a].mtu: must be a number, not a list",
		"interfaces: [{name: a, mtu: 1.5}]":                                  `"1.5" is not a whole number`,
		"interfaces: [{name: a, mtu: 99999999999}]":                          "is not a whole number of 32 bits",
		"interfaces: [{name: a, name: b}]":                                   "the key is there already",
		"interfaces: [{name: a, link-aggregation: {port: [b], slaves: []}}]": `the key is there already, as "port"`,
		"interfaces: [null]":                                                 "interfaces[0]: is empty",
		"route-rules: {config: [{fwmark: -1}]}":                              `"-1" is not a mark`,
		"a: 1\n---\nb: 2":                                                    "more than one YAML document",
		"interfaces: [":                                                      "not YAML",
		"hello":                                                              `must be a set of keys, not "hello"`,
		"routing: {}":                                                        `routing: unknown key`,
	} {
		_, err := Decode([]byte(text))
		var all tree.Problems
		require.True(t, errors.As(err, &all), text)
		require.ErrorContains(t, err, want)
	}
	_, err := Decode([]byte("interfaces: [" + strings.Repeat("{x: 1}, ", 100) + "]"))
	require.Less(t, len(err.Error()), 3000, "a document that is all wrong does not make an endless message")
}

func TestHostileSizes(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"10 MB":          {"# " + strings.Repeat("x", 10<<20), "are the most that is read"},
		"100,000 routes": {"routes: {config: [" + strings.Repeat("{destination: '::/0'},", 100_000) + "]}", "routes.config: 100000 entries, and 20000 are the most"},
		"interfaces":     {"interfaces: [" + strings.Repeat("{name: a},", 10_001) + "]", "interfaces: 10001 entries"},
		"addresses":      {"interfaces: [{name: a, ipv4: {address: [" + strings.Repeat("{ip: a},", 5000) + "]}}]", "interfaces[a].ipv4.address: 5000 entries"},
		"unfolding": {"dns-resolver: {config: {search: &a [" + strings.Repeat("x,", 1000) + "]}}\nroutes: {config: [" +
			strings.Repeat("{destination: a, next-hop-interface: b},", 10) + "]}\ninterfaces: [&i {name: a, bridge: {port: &p [" +
			strings.Repeat("{name: x},", 4000) + "]}}, " + strings.Repeat("*i,", 9000) + "]", "more than 2000000 values"},
		"depth": {strings.Repeat("[", 100_000), "not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(c.text))
			require.ErrorContains(t, err, c.want)
			require.Less(t, len(err.Error()), 2000)
		})
	}
}
