package network

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1":      "192.0.2.1/24",
		"198.51.100.53":  "198.51.100.53/24",
		"2001:db8:1::1":  "2001:db8:1::1/64",
		"2001:db8:2::53": "2001:db8:2::53/64",
	} {
		got, ok := Find(netip.MustParseAddr(address))
		require.True(t, ok, address)
		require.Equal(t, want, got.String())
	}
	_, ok := Find(netip.MustParseAddr("192.0.2.10"))
	require.False(t, ok, "the node's own address is not the LAN's")
}

func TestHostsFile(t *testing.T) {
	require.Equal(t, `192.0.2.1 gateway.lab.example
2001:db8:1::1 gateway.lab.example
198.51.100.1 registry.lab.example
2001:db8:2::1 registry.lab.example
`, hostsFile())
}
