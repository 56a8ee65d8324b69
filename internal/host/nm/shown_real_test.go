package nm_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// What the kernel gives by itself is shown: link-local addresses, the times that a leased address has left, the limits of the
// MTU, and the controller of a port. A document that is taken from what is shown changes nothing.
func TestWhatTheKernelGivesIsShown(t *testing.T) {
	n := newNode(t)
	n.cards("eth1", "eth2")
	n.Peer("addr", "add", "198.51.100.1/24", "dev", "eth2p")
	n.ServeDHCP([]string{"eth2"}, []string{"198.51.100.100,198.51.100.100,255.255.255.0"})
	n.apply(`interfaces:
- {name: br0, type: linux-bridge, state: up, bridge: {port: [{name: eth1}]}, ipv6: {enabled: true, dhcp: false, autoconf: false}}
- {name: eth2, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}
`)
	var got netstate.Document
	n.Until("the addresses are there", func() bool {
		var err error
		got, err = n.network().Observe(timeout(t))
		require.NoError(t, err)
		br0, _ := got.Find("br0", "")
		eth2, _ := got.Find("eth2", "")
		return len(br0.IPv6.Addresses) > 0 && len(eth2.IPv4.Addresses) > 0
	})
	br0, _ := got.Find("br0", "")
	require.Len(t, br0.IPv6.Addresses, 1)
	require.True(t, netip.MustParseAddr(br0.IPv6.Addresses[0].IP).IsLinkLocalUnicast())
	require.Empty(t, br0.IPv6.Addresses[0].ValidLifetime)
	eth1, _ := got.Find("eth1", "")
	require.NotNil(t, eth1.Controller)
	require.Equal(t, "br0", *eth1.Controller)
	require.Equal(t, 68, eth1.MinMTU)
	require.Equal(t, 65535, eth1.MaxMTU)
	eth2, _ := got.Find("eth2", "")
	require.Len(t, eth2.IPv4.Addresses, 1)
	require.Regexp(t, `^\d+sec$`, eth2.IPv4.Addresses[0].ValidLifetime)
	require.Regexp(t, `^\d+sec$`, eth2.IPv4.Addresses[0].PreferredLifetime)
	require.Nil(t, eth2.Controller)
	plan, err := n.network().Plan(timeout(t), netstate.Document{Interfaces: got.Interfaces, Routes: got.Routes})
	require.NoError(t, err)
	require.Empty(t, plan)
	leased := *eth2.IPv4
	leased.DHCP = new(false)
	require.NoError(t, n.network().Apply(timeout(t), netstate.Document{Interfaces: []netstate.Interface{{
		Name: "eth2", Type: netstate.TypeEthernet, State: netstate.StateUp, IPv4: &leased,
	}}}, nil))
	require.Equal(t, []netstate.Address{{IP: "198.51.100.100", PrefixLength: 24}}, n.find("eth2", "").IPv4.Addresses, "without end")
}

// Links that other programs make are shown by nmstate's names of their kinds.
func TestForeignLinksHaveNamesOfNmstate(t *testing.T) {
	n := newNode(t)
	n.IP("tuntap", "add", "tap0", "mode", "tap")
	require.Equal(t, "tun", n.find("tap0", "").Type)
}
