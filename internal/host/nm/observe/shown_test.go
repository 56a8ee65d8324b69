package observe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/observe"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Captures pick routes by their number, so their order is nmstate's: IPv6 first, then by table, interface and destination.
func TestShownRoutesAndRulesAreInTheOrderOfNmstate(t *testing.T) {
	d, err := netstate.Decode([]byte(`
interfaces: [{name: eth1, type: ethernet}, {name: eth0, type: ethernet, state: up, ipv4: {enabled: false, dhcp: false}, ipv6: {enabled: true, dhcp: false}}]
routes:
  running:
  - {destination: 203.0.113.0/24, next-hop-interface: eth1, table-id: 200}
  - {destination: 203.0.113.0/24, next-hop-interface: eth0}
  - {destination: 0.0.0.0/0, next-hop-interface: eth0, table-id: 200}
  - {destination: "::/0", next-hop-interface: eth1}
  config: []
route-rules:
  config:
  - {family: ipv4, ip-from: 192.0.2.0/24, priority: 30001, route-table: 200}
  - {family: ipv6, ip-from: "2001:db8::/64", priority: 30000, route-table: 200}
`))
	require.NoError(t, err)
	observe.AddShown(&d, &kernel.Shown{})
	var got []string
	for _, r := range d.Routes.Running {
		got = append(got, r.Destination+" "+r.NextHopInterface)
	}
	require.Equal(t, []string{"::/0 eth1", "0.0.0.0/0 eth0", "203.0.113.0/24 eth1", "203.0.113.0/24 eth0"}, got)
	require.Equal(t, []int{30000, 30001}, []int{d.RouteRules.Config[0].Priority, d.RouteRules.Config[1].Priority})
	require.Equal(t, netstate.Disabled(), d.Interfaces[0].IPv4, "a family that is off says so and no more")
}
