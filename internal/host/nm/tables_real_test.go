package nm_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
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
