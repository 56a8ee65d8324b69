package conflict

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeys(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want []string
	}{
		"the same value in other words": {
			`{"interfaces":[{"name":"eth1","mtu":1500}]}`, `{"interfaces":[{"name":"eth1","mtu":"1500"},{"name":"eth2","mtu":9000}]}`, nil},
		"a value": {
			`{"interfaces":[{"name":"eth1","mtu":1500}]}`, `{"interfaces":[{"name":"eth1","mtu":9000}]}`,
			[]string{"interfaces[eth1].mtu: 1500, 9000"}},
		"a state": {
			`{"interfaces":[{"name":"br1","type":"linux-bridge"}]}`, `{"interfaces":[{"name":"br1","state":"absent"}]}`,
			[]string{"interfaces[br1].state: up, absent"}},
		"addresses as a whole": {
			`{"interfaces":[{"name":"eth1","ipv4":{"address":[{"ip":"192.0.2.1","prefix-length":24}]}}]}`,
			`{"interfaces":[{"name":"eth1","ipv4":{"address":[{"ip":"192.0.2.2","prefix-length":24}]}}]}`,
			[]string{`interfaces[eth1].ipv4.address: [{"ip":"192.0.2.1","prefix-length":24}], [{"ip":"192.0.2.2","prefix-length":24}]`}},
		"ports are named": {
			`{"interfaces":[{"name":"br1","bridge":{"port":[{"name":"eth1","vlan":{"tag":1}}]}}]}`,
			`{"interfaces":[{"name":"br1","bridge":{"port":[{"name":"eth1","vlan":{"tag":2}},{"name":"eth2"}]}}]}`,
			[]string{"interfaces[br1].bridge.port[eth1].vlan.tag: 1, 2"}},
		"bridge and interface of one name": {
			`{"interfaces":[{"name":"br-ex","type":"ovs-bridge"}]}`, `{"interfaces":[{"name":"br-ex","type":"ovs-interface","mtu":9000}]}`, nil},
		"routes add up": {
			`{"routes":{"config":[{"destination":"0.0.0.0/0","next-hop-interface":"eth1","next-hop-address":"192.0.2.1"}]}}`,
			`{"routes":{"config":[{"destination":"198.51.100.0/24","next-hop-interface":"eth1","next-hop-address":"192.0.2.1"}]}}`, nil},
		"one removes what the other adds": {
			`{"routes":{"config":[{"destination":"0.0.0.0/0","next-hop-interface":"eth1"}]}}`,
			`{"routes":{"config":[{"destination":"0.0.0.0/0","next-hop-interface":"eth1","state":"absent"}]}}`,
			[]string{"routes.config[0.0.0.0/0 eth1  ]: up, absent"}},
		"servers": {
			`{"dns-resolver":{"config":{"server":["192.0.2.53"]}}}`, `{"dns-resolver":{"config":{"server":["192.0.2.54"]}}}`,
			[]string{`dns-resolver.config.server: ["192.0.2.53"], ["192.0.2.54"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Flatten([]byte(c.a))
			require.NoError(t, err)
			b, err := Flatten([]byte(c.b))
			require.NoError(t, err)
			require.Equal(t, c.want, Keys(a, b))
		})
	}
}

func TestFlattenRefusesWhatIsNoJSON(t *testing.T) {
	_, err := Flatten([]byte("{"))
	require.ErrorContains(t, err, "read the document")
	empty, err := Flatten(nil)
	require.NoError(t, err)
	require.Empty(t, empty)
}
