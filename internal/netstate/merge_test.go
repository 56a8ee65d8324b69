package netstate

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/topo"
)

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

// The other end of a pair goes with the first, and comes back with it.
func TestBothEndsOfAPairGo(t *testing.T) {
	now := parse(t, `interfaces:
- {name: a, type: veth, state: up, veth: {peer: b}, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: b, type: veth, state: up, veth: {peer: a}, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}, ipv6: {enabled: false}}
- {name: c, type: vlan, state: up, vlan: {id: 7, base-iface: b}, ipv4: {enabled: false}, ipv6: {enabled: false}}`)
	want := parse(t, "interfaces: [{name: a, state: absent}]")
	require.Empty(t, Merge(now, want).Interfaces)
	require.Len(t, Revert(want, now).Interfaces, 3)
	require.Len(t, Merge(now, parse(t, "interfaces: [{name: a, state: absent}, {name: b, state: up, veth: {peer: d}}]")).Interfaces, 2)
}

// A leased address that a capture has found becomes a fixed one where DHCP is turned off, and has to be there.
func TestACapturedLeaseBecomesAFixedAddress(t *testing.T) {
	decode := func(text string) Document {
		d, err := Decode([]byte(text))
		require.NoError(t, err)
		return d
	}
	const address = "{ip: 192.0.2.10, prefix-length: 24, valid-life-time: 3599sec, preferred-life-time: 3599sec}"
	now := decode("interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, address: [" + address + "]}}]")
	want := decode("interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [" + address + "]}}]")
	require.Equal(t, []Address{{IP: "192.0.2.10", PrefixLength: 24}}, Merge(now, want).Interfaces[0].IPv4.Addresses)
	require.NotEmpty(t, Diff(now, want).Interfaces)
	gone := decode("interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: []}}]")
	require.NotEmpty(t, Compare(want, gone), "the address is missing")
	require.Empty(t, Compare(now, gone.withDHCP()), "a lease that another one has replaced is no mismatch")
}

// withDHCP is the document with DHCP on its first interface.
func (d Document) withDHCP() Document {
	d.Interfaces[0].IPv4.DHCP = new(true)
	return d
}

// Fixed addresses beside a lease are in place with it, and a revert removes them without it.
func TestFixedAddressesBesideALease(t *testing.T) {
	now := parse(t, `interfaces: [{name: a, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, auto-dns: true, auto-gateway: true,
  auto-routes: true, address: [{ip: 192.0.2.9, prefix-length: 24}]}}]`)
	now.Interfaces[0].IPv4.Addresses[0].Leased = true
	want := parse(t, "interfaces: [{name: a, ipv4: {enabled: true, dhcp: true, address: [{ip: 198.51.100.5, prefix-length: 24}]}}]")
	then := Merge(now, want)
	require.Len(t, then.Interfaces[0].IPv4.Addresses, 2)
	require.Empty(t, Diff(then, want).Interfaces)
	require.Equal(t, []Address{}, Revert(want, now).Interfaces[0].IPv4.Addresses, "the lease is not made a fixed address")

	other := parse(t, "interfaces: [{name: a, mtu: 1400, ipv4: {enabled: true, dhcp: true, address: []}}]")
	require.Equal(t, []Address{{IP: "198.51.100.5", PrefixLength: 24}}, Revert(other, then).Interfaces[0].IPv4.Addresses)
	then.Interfaces[0].IPv4.Addresses[0].Leased = false
	require.Nil(t, Revert(other, then).Interfaces[0].IPv4.Addresses, "a text does not say which is leased")
}

// What is shown only asks for nothing: a document that was shown by another node, with what its cards and neighbors told, changes nothing
// here.
func TestWhatIsShownOnlyAsksForNothing(t *testing.T) {
	const card = `interfaces: [{name: a, type: ethernet, state: up, driver: %s, permanent-mac-address: '02:00:00:00:00:0%d', min-mtu: %d,
  lldp: {enabled: true, neighbors: [[{type: %d}]]}, ethtool: {ring: {rx: 512, rx-max: %d}}, ipv4: {enabled: false}}]`
	now := parse(t, fmt.Sprintf(card, "virtio_net", 1, 68, 1, 1024))
	shown := parse(t, fmt.Sprintf(card, "ice", 2, 100, 5, 8160))
	require.Empty(t, Compare(shown, now))
	require.Equal(t, Document{}, Diff(now, shown))
	shown.Interfaces[0].Ethtool.Ring.RX = new(1024)
	require.Len(t, Compare(shown, now), 1)
	require.Equal(t, &Ring{RX: new(1024)}, Diff(now, shown).Interfaces[0].Ethtool.Ring)
}
