package network

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// A named interface is shown with its routes and the rules that lead into their tables, and with no others.
func TestAnInterfaceIsShownWithItsRules(t *testing.T) {
	d, err := netstate.Decode([]byte(`
interfaces: [{name: eth0}, {name: eth1}]
routes:
  config:
  - {destination: 198.51.100.0/24, next-hop-interface: eth1, table-id: 200}
  - {destination: 203.0.113.0/24, next-hop-interface: eth0, table-id: 300}
route-rules:
  config:
  - {ip-from: 192.0.2.64/26, route-table: 200, priority: 1000}
  - {ip-from: 192.0.2.128/26, route-table: 300, priority: 1001}
`))
	require.NoError(t, err)
	shown, err := selectInterfaces(d, []string{"eth1"})
	require.NoError(t, err)
	require.Len(t, shown.Routes.Config, 1)
	require.Len(t, shown.RouteRules.Config, 1)
	require.Equal(t, 200, shown.RouteRules.Config[0].RouteTable)
	none, err := selectInterfaces(d, []string{"eth9"})
	require.NoError(t, err)
	require.Equal(t, netstate.Document{Interfaces: []netstate.Interface{}}, none)
}
