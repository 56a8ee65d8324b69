package netstate

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

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
		"{[a]: 1}":                                                           "line 1: a key must be a word, not a list",
		`routes: {config: [{next-hop-interface: a, state: absent, destination: ""}]}`: "routes.config[0].destination: is empty; leave it out",
		`{"routes": {"config": [{"state": "absent", "destination": ""}]}}`:            "routes.config[0].destination: is empty; leave it out",
		"routing: {}": `routing: unknown key`,
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
