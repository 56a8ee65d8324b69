package nm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// These tests run against a real NetworkManager; see nmtest.

func TestObserve(t *testing.T) {
	n := newNode(t)
	got, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	nic, ok := got.Find("uplink0", netstate.TypeEthernet)
	require.True(t, ok, "%+v", got.Interfaces)
	require.Equal(t, netstate.StateUp, nic.State)
	require.Equal(t, []netstate.Address{{IP: "192.0.2.10", PrefixLength: 24}}, nic.IPv4.Addresses)
	require.Equal(t, netstate.Address{IP: "2001:db8::10", PrefixLength: 64}, nic.IPv6.Addresses[0])
	require.False(t, *nic.IPv4.DHCP)
	require.False(t, *nic.IPv6.Autoconf)
	gw, ok := netstate.DefaultGateway(got, netstate.IPv4, "uplink0")
	require.True(t, ok)
	require.Equal(t, "192.0.2.1", gw.String())
	gw, ok = netstate.DefaultGateway(got, netstate.IPv6, "uplink0")
	require.True(t, ok)
	require.Equal(t, "2001:db8::1", gw.String())
	require.Equal(t, []string{"192.0.2.53", "192.0.2.54"}, got.DNS.Running.Server)
}

func TestApplyMovesTheAddress(t *testing.T) {
	n := newNode(t)
	net := n.network()
	var proved bool
	err := net.Apply(timeout(t), document(t, moved), func(ctx context.Context) error {
		proved = true
		require.True(t, n.has("192.0.2.77/24"))
		require.Equal(t, uplinkProfile, n.text(n.keyfile), "nothing is on disk before the proof")
		return nil
	})
	require.NoError(t, err)
	require.True(t, proved)
	got, err := net.Observe(timeout(t))
	require.NoError(t, err)
	require.Empty(t, netstate.Verify(document(t, moved), got))
	require.True(t, n.has("2001:db8::10/64"), "the other family was not mentioned: %s", n.IP("addr"))
	require.False(t, n.has("192.0.2.10/24"))
	require.NotContains(t, n.IP("route"), "via 192.0.2.1 ")
	require.Contains(t, n.text(n.keyfile), "wake-on-lan=64", "unknown settings stay")
	require.Equal(t, []string{"192.0.2.60", "192.0.2.53"}, got.DNS.Running.Server)
	n.settled()
}

func TestFailedProofPutsTheOldNetworkBack(t *testing.T) {
	n := newNode(t)
	err := n.network().Apply(timeout(t), document(t, moved), func(context.Context) error { return errors.New("gateway is silent") })
	require.ErrorContains(t, err, "gateway is silent")
	n.isOld()
}
