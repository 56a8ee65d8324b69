package netstate

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func parse(t testing.TB, text string) Document {
	t.Helper()
	d, err := Decode([]byte(text))
	require.NoError(t, err)
	return d
}

// ipChange is a document as the IP change flow writes it.
const ipChange = `
interfaces:
- name: eno1.100
  type: vlan
  state: up
  vlan: {id: 100}
  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.77, prefix-length: 24}]}
  ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: '2001:db8::77', prefix-length: 64}]}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: eno1.100, next-hop-address: 192.0.2.1, state: absent}
  - {destination: 0.0.0.0/0, next-hop-interface: eno1.100, next-hop-address: 192.0.2.254, metric: 48, table-id: 254}
  - {destination: '::/0', next-hop-interface: eno1.100, next-hop-address: 'fe80::1', metric: 48, table-id: 254}
dns-resolver: {config: {server: [192.0.2.53, '2001:db8::53']}}
`

// running is a node in which ipChange is in place.
const running = `
interfaces:
- name: br-ex
  type: ovs-bridge
  state: up
  bridge: {port: [{name: br-ex}, {name: eno1.100}]}
- name: eno1.100
  type: vlan
  state: up
  vlan: {id: 100, base-iface: eno1}
  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.77, prefix-length: 24}, {ip: 169.254.169.2, prefix-length: 29}]}
  ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: '2001:0DB8:0::77', prefix-length: 64}]}
routes:
  running:
  - {destination: 0.0.0.0/0, next-hop-interface: eno1.100, next-hop-address: 192.0.2.254, metric: 48, table-id: 254}
  - {destination: '::/0', next-hop-interface: eno1.100, next-hop-address: 'fe80::1', metric: 48, table-id: 254}
dns-resolver: {running: {server: [192.0.2.53, '2001:db8:0::53']}}
`

func TestDecodeRefusesUnknownKeys(t *testing.T) {
	_, err := Decode([]byte("interfaces: [{name: eno1, addresz: []}]"))
	require.ErrorContains(t, err, `interfaces[eno1].addresz: unknown key`)
}

func TestDecodeTellsAnEmptyListFromNone(t *testing.T) {
	d := parse(t, "interfaces: [{name: a, ipv4: {enabled: true, address: []}, ipv6: {enabled: true}}]")
	require.NotNil(t, d.Interfaces[0].IPv4.Addresses)
	require.Nil(t, d.Interfaces[0].IPv6.Addresses)
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{ipChange, running, "", "{}", "interfaces: [{}]", "routes: {config: [{destination: 1}]}", "dns-resolver: {config: {}}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Decode(data)
		if err != nil {
			return
		}
		// None of these may panic on anything that decodes.
		Verify(d, d)
		Revert(d, Document{})
		DefaultGateway(d, IPv4, "")
		if Validate(d) != nil {
			return
		}
		text, err := d.Encode()
		require.NoError(t, err)
		again, err := Decode(text)
		require.NoError(t, err, "what we write we can read")
		require.NoError(t, Validate(again))
	})
}

func TestValidate(t *testing.T) {
	require.NoError(t, Validate(parse(t, ipChange)))
	iface := func(rest string) string { return "interfaces: [{name: eno1, type: ethernet, " + rest + "}]" }
	bridge := func(options string) string {
		return "interfaces: [{name: b, type: linux-bridge, bridge: {options: {" + options + "}}}]"
	}
	v4 := func(list string) string { return iface("ipv4: {enabled: true, address: [" + list + "]}") }
	route := func(rest string) string {
		return "interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}, ipv6: {enabled: false}}]\nroutes: {config: [{" + rest + "}]}"
	}
	for text, want := range map[string]string{
		"interfaces: [{name: ''}]":                              "is empty",
		"interfaces: [{name: abcdefghijklmnop}]":                "longer than 15",
		"interfaces: [{name: a/b}]":                             "the kernel refuses",
		"interfaces: [{name: ..}]":                              "is reserved",
		"interfaces: [{name: a}, {name: a}]":                    "appears twice",
		iface("state: asleep"):                                  "none of up, down, absent",
		iface("vlan: {id: 5}"):                                  "does not belong to type ethernet",
		"interfaces: [{name: a, vlan: {id: 4095}}]":             "VLAN id 4095 is outside 1-4094",
		"interfaces: [{name: a, vlan: {id: 0}}]":                "VLAN id 0 is outside",
		"interfaces: [{name: a, vlan: {id: 1, base-iface: a}}]": "its own base",
		iface("ethernet: {speed: -1}"):                          "ethernet.speed: -1 is negative",
		bridge("group-forward-mask: 70000"):                     "70000 is outside 0-65535",
		bridge("multicast-last-member-count: -1"):               "multicast-last-member-count: -1 is negative",
		bridge("mac-ageing-time: -1"):                           "mac-ageing-time: -1 is negative",
		bridge("multicast-query-interval: -1"):                  "multicast-query-interval: -1 is negative",
		"interfaces: [{name: b, type: bond, link-aggregation: {mode: active-backup, port: [a], ports-config: [{name: a, queue-id: -1}]}}]":                              "ports-config[a].queue-id: -1 is negative",
		"interfaces: [{name: b, type: ovs-bridge, bridge: {port: [{name: l, link-aggregation: {mode: balance-slb, bond-updelay: -1, port: [{name: a}, {name: c}]}}]}}]": "bond-updelay: -1 is negative",
		iface("mtu: 40"): "mtu: 40 is outside",
		iface("mtu: 1000, ipv6: {enabled: true}"):                                               "at least 1280",
		iface("mac-address: 12:34"):                                                             "not a MAC address",
		"interfaces: [{name: b, type: ovs-bridge, ipv4: {enabled: false}}]":                     "carries no addresses",
		iface("ipv4: {enabled: false, dhcp: true}"):                                             "disabled and configured at once",
		iface("ipv4: {enabled: true, autoconf: true}"):                                          "ipv4.autoconf: belongs to ipv6",
		v4("{ip: 192.0.2.300, prefix-length: 24}"):                                              "is not an IP address",
		v4("{ip: 192.0.2.3, prefix-length: 33}"):                                                "outside 0-32",
		v4("{ip: '2001:db8::1', prefix-length: 64}"):                                            "is not an IPv4 address",
		v4("{ip: 0.0.0.0, prefix-length: 24}"):                                                  "cannot be an address of a host",
		v4("{ip: 127.0.0.1, prefix-length: 8}"):                                                 "cannot be an address of a host",
		v4("{ip: 224.0.0.1, prefix-length: 24}"):                                                "cannot be an address of a host",
		v4("{ip: 192.0.2.0, prefix-length: 24}"):                                                "network or broadcast",
		v4("{ip: 192.0.2.255, prefix-length: 24}"):                                              "network or broadcast",
		v4("{ip: 192.0.2.7, prefix-length: 24}, {ip: 192.0.2.7, prefix-length: 25}"):            "appears twice",
		iface("ipv6: {enabled: true, address: [{ip: '::ffff:192.0.2.1', prefix-length: 120}]}"): "IPv6 clothing",
		iface("ipv6: {enabled: true, address: [{ip: 'fe80::1%eno1', prefix-length: 64}]}"):      "must not carry a zone",
		route("destination: 192.0.2.1.0/24, next-hop-interface: eno1"):                          "is not a network such as",
		route("next-hop-interface: eno1"):                                                       "has no destination",
		route("destination: 0.0.0.0/0, next-hop-address: 192.0.2.1"):                            "next-hop-interface is missing",
		route("destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 'fe80::1'"):  "other IP family",
		route("destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.10"): "address of \"eno1\" itself",
		route("destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: x"):          "is not an IP address",
		route("destination: '::/0', next-hop-interface: eno1, next-hop-address: 'fe80::1'"):     "IPv6 is disabled on its interface",
		route("destination: 0.0.0.0/0, next-hop-interface: eno1, metric: -2"):                   "cannot be negative",
		route("destination: 0.0.0.0/0, next-hop-interface: eno1, state: up"):                    "neither empty nor absent",
		route("destination: 224.0.0.0/4, next-hop-interface: eno1"):                             "multicast",
		"dns-resolver: {config: {server: [x]}}":                                                 "not an IP address",
		"dns-resolver: {config: {server: ['fe80::1']}}":                                         "needs its interface",
		"dns-resolver: {config: {server: ['::']}}":                                              "cannot be a DNS server",
		"dns-resolver: {config: {server: ['2001:db8::1', '2001:db8:0::1']}}":                    "appears twice",
		"dns-resolver: {config: {search: ['a b']}}":                                             "not a domain name",
	} {
		require.ErrorContains(t, Validate(parse(t, text)), want, text)
	}
	for _, text := range []string{
		v4("{ip: 192.0.2.0, prefix-length: 31}"), v4("{ip: 192.0.2.0, prefix-length: 32}"),
		iface("state: absent, mtu: 3, ipv4: {enabled: true, address: [{ip: x, prefix-length: 1}]}"),
		"dns-resolver: {config: {server: ['fe80::1%eno1']}}", route("state: absent, next-hop-interface: eno1"),
	} {
		require.NoError(t, Validate(parse(t, text)), text)
	}
}

func TestValidateNamesEverythingAtOnce(t *testing.T) {
	err := Validate(parse(t, "interfaces: [{name: a, mtu: 3}, {name: b, mac-address: x}]"))
	var all Problems
	require.ErrorAs(t, err, &all)
	require.Len(t, all, 2)
}

func TestVerify(t *testing.T) {
	require.Empty(t, Verify(parse(t, ipChange), parse(t, running)), "other spellings, other programs' addresses")
	for _, c := range []struct{ replace, with, want string }{
		{"{ip: 192.0.2.77, prefix-length: 24}, ", "", "lacks address 192.0.2.77/24"},
		{"192.0.2.77, prefix-length: 24", "192.0.2.77, prefix-length: 25", "lacks address 192.0.2.77/24"},
		{"  state: up\n  vlan", "  state: down\n  vlan", "is down"},
		{"id: 100", "id: 101", "has VLAN id 101, not 100"},
		{"eno1.100\n  type", "eno9\n  type", "interface eno1.100 does not exist"},
		{"address: 192.0.2.254", "address: 192.0.2.1", "0.0.0.0/0 via 192.0.2.1 dev eno1.100 metric 48 is still there"},
		{"192.0.2.254, metric: 48", "192.0.2.254, metric: 100", "0.0.0.0/0 via 192.0.2.254 dev eno1.100 metric 48 is missing"},
		{"[192.0.2.53, '2001:db8:0::53']", "['2001:db8:0::53', 192.0.2.53]", "DNS servers are [2001:db8:0::53 192.0.2.53]"},
		{"enabled: true, dhcp: false, autoconf", "enabled: true, dhcp: true, autoconf", "IPv6 DHCP on, not off"},
	} {
		text := strings.Replace(running, c.replace, c.with, 1)
		require.NotEqual(t, running, text, c.replace)
		diff := Verify(parse(t, ipChange), parse(t, text))
		require.True(t, slices.ContainsFunc(diff, func(s string) bool { return strings.Contains(s, c.want) }), "%v lacks %q", diff, c.want)
	}
}

func TestVerifyTakenDown(t *testing.T) {
	got := parse(t, running)
	for want, differs := range map[string]bool{
		"interfaces: [{name: eno1.100, type: vlan, state: absent}]":                         true,
		"interfaces: [{name: eno7, type: ethernet, state: absent}]":                         false,
		"interfaces: [{name: br-ex, type: ovs-bridge, bridge: {port: [{name: eno1.100}]}}]": false,
		"interfaces: [{name: br-ex, type: ovs-bridge, bridge: {port: [{name: eno2}]}}]":     true,
		"interfaces: [{name: eno1.100, ipv4: {enabled: false}}]":                            true,
		"interfaces: [{name: eno1.100, mtu: 9000, mac-address: '02:00:00:00:00:01'}]":       true,
	} {
		require.Equal(t, differs, len(Verify(parse(t, want), got)) > 0, want)
	}
}

func TestMergeRoutes(t *testing.T) {
	old := Route{Destination: "0.0.0.0/0", NextHopAddress: "192.0.2.1", NextHopInterface: "eno1", Metric: 100}
	local := Route{Destination: "198.51.100.0/24", NextHopAddress: "192.0.2.9", NextHopInterface: "eno1"}
	table := Route{Destination: "0.0.0.0/0", NextHopAddress: "192.0.2.1", NextHopInterface: "eno1", TableID: 7}
	other := Route{Destination: "0.0.0.0/0", NextHopAddress: "192.0.2.1", NextHopInterface: "eno2"}
	have := []Route{old, local, table, other}
	fresh := Route{Destination: "0.0.0.0/0", NextHopAddress: "192.0.2.254", NextHopInterface: "eno1", Metric: 48, TableID: 254}

	absent := Route{Destination: "0.0.0.0/0", NextHopAddress: "192.0.2.1", NextHopInterface: "eno1", TableID: 254, State: StateAbsent}
	require.Equal(t, []Route{local, table, other, fresh}, MergeRoutes(have, []Route{absent, fresh}))
	require.Equal(t, []Route{other}, MergeRoutes(have, []Route{{NextHopInterface: "eno1", State: StateAbsent}}), "all of an interface")
	require.Equal(t, []Route{local}, MergeRoutes(have, []Route{{Destination: "0.0.0.0/0", State: StateAbsent}}), "all default routes")
	cheaper := old
	cheaper.Metric = 48
	require.Equal(t, []Route{local, table, other, cheaper}, MergeRoutes(have, []Route{cheaper}), "another metric replaces")
	sloppy := local
	sloppy.Destination = "198.51.100.77/24"
	require.Len(t, MergeRoutes(have, []Route{sloppy}), 4, "host bits do not make it another route")
}

func TestDefaultGateway(t *testing.T) {
	d := parse(t, `
routes:
  running:
  - {destination: 0.0.0.0/0, next-hop-interface: eno2, next-hop-address: 198.51.100.1, metric: 101}
  - {destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.1, metric: 48}
  - {destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.7, metric: 1, table-id: 7}
  - {destination: 0.0.0.0/0, next-hop-interface: ppp0, metric: 1}
  - {destination: '::/0', next-hop-interface: br-ex, next-hop-address: 'fe80::1', metric: 48}
`)
	gw := func(f Family, iface string) string {
		a, ok := DefaultGateway(d, f, iface)
		require.Equal(t, ok, a.IsValid())
		return a.String()
	}
	require.Equal(t, "192.0.2.1", gw(IPv4, ""))
	require.Equal(t, "198.51.100.1", gw(IPv4, "eno2"))
	require.Equal(t, "fe80::1", gw(IPv6, "br-ex"))
	require.Equal(t, "invalid IP", gw(IPv6, "eno2"))
}

func TestRevert(t *testing.T) {
	now := parse(t, `
interfaces:
- {name: eno1, type: ethernet, state: up, mtu: 1500, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.10, prefix-length: 24}]}, ipv6: {enabled: true, dhcp: true, address: [{ip: '2001:db8::1', prefix-length: 128}]}}
- {name: eno2, type: ethernet, state: up}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1}, {destination: 203.0.113.0/24, next-hop-interface: eno2, next-hop-address: 198.51.100.1}]}
dns-resolver: {config: {server: [192.0.2.53]}}
`)
	want := parse(t, `
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.77, prefix-length: 24}]}}
- {name: eno1.7, type: vlan, state: up, vlan: {id: 7, base-iface: eno1}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: eno1, state: absent}, {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.254}]}
dns-resolver: {config: {server: [192.0.2.54]}}
`)
	back := Revert(want, now)
	require.NoError(t, Validate(back))
	eno1, _ := back.Find("eno1", "")
	require.Equal(t, "192.0.2.10", eno1.IPv4.Addresses[0].IP)
	require.Nil(t, eno1.IPv6, "nothing changed there")
	vlan, _ := back.Find("eno1.7", "")
	require.Equal(t, StateAbsent, vlan.State)
	require.Equal(t, []Route{
		{Destination: "0.0.0.0/0", NextHopInterface: "eno1", NextHopAddress: "192.0.2.254", TableID: MainTable, State: StateAbsent},
		{Destination: "0.0.0.0/0", NextHopInterface: "eno1", NextHopAddress: "192.0.2.1", TableID: MainTable},
	}, back.Routes.Config)
	require.Equal(t, []string{"192.0.2.53"}, back.DNS.Config.Server)
	_, ok := back.Find("eno2", "")
	require.False(t, ok, "nobody mentioned it")
}

// TestWhatIsNotReportedIsNotCompared, and what is reported is, also where the value is the zero of its type.
func TestWhatIsNotReportedIsNotCompared(t *testing.T) {
	want := parse(t, "interfaces: [{name: eth1, type: ethernet, lldp: {enabled: true}, accept-all-mac-addresses: true, ethernet: {speed: 1000}}]")
	got := parse(t, "interfaces: [{name: eth1, type: ethernet, state: up}]")
	require.Empty(t, Verify(want, got))
	got = parse(t, "interfaces: [{name: eth1, type: ethernet, state: up, lldp: {enabled: false}, accept-all-mac-addresses: false, ethernet: {speed: 100}}]")
	all := Compare(want, got)
	require.Len(t, all, 3)
	for _, m := range all {
		require.True(t, m.Settled, m.Sentence)
	}
}
