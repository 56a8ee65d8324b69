package nm_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// A route leaves its table when it is removed, and those of other tables stay. NetworkManager 1.42 keeps it there.
func TestRouteLeavesItsTable(t *testing.T) {
	n := newNode(t)
	n.Link("eth1")
	const card = `interfaces:
- name: eth1
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.5, prefix-length: 24}]}
  ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: "2001:db8:5::5", prefix-length: 64}]}
`
	routes := map[string]string{
		"IPv4": `
  - {destination: 203.0.113.0/25, next-hop-address: 198.51.100.1, next-hop-interface: eth1, metric: 103, table-id: 50%s}
  - {destination: 203.0.113.128/25, next-hop-address: 198.51.100.1, next-hop-interface: eth1, metric: 103, table-id: 51}
`,
		"IPv6": `
  - {destination: "2001:db8:f::/64", next-hop-address: "2001:db8:5::1", next-hop-interface: eth1, metric: 103, table-id: 50%s}
  - {destination: "2001:db8:e::/64", next-hop-address: "2001:db8:5::1", next-hop-interface: eth1, metric: 103, table-id: 51}
`,
	}
	for family, text := range routes {
		t.Run(family, func(t *testing.T) {
			n.apply(card + "routes:\n  config:" + fmt.Sprintf(text, ""))
			n.apply(card + "routes:\n  config:" + fmt.Sprintf(text, ", state: absent"))
			flag := map[string]string{"IPv4": "-4", "IPv6": "-6"}[family]
			require.NotContains(t, n.IP(flag, "route", "show", "table", "all"), "table 50")
			require.Contains(t, n.IP(flag, "route", "show", "table", "all"), "table 51")
		})
	}
}

// Routes with several next hops, which another program made, are shown as a document may have them: weights are of IPv4 alone.
func TestRoutesWithSeveralHopsCanBeApplied(t *testing.T) {
	n := newNode(t)
	n.IP("route", "add", "203.0.113.0/24", "nexthop", "via", "192.0.2.20", "weight", "2", "nexthop", "via", "192.0.2.21")
	n.IP("-6", "route", "add", "2001:db8:f::/64", "nexthop", "via", "2001:db8::20", "dev", "uplink0", "nexthop", "via", "2001:db8::21", "dev",
		"uplink0")
	got, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	weights := map[string]int{}
	for _, r := range got.Routes.Config {
		weights[r.Destination] += r.Weight
	}
	require.Equal(t, 3, weights["203.0.113.0/24"])
	require.Zero(t, weights["2001:db8:f::/64"])
	require.NoError(t, netstate.Validate(netstate.Document{Routes: &netstate.Routes{Config: got.Routes.Config}}))
}
