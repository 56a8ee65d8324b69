package nm_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

func TestWhatIsInPlaceIsLeftUntouched(t *testing.T) {
	n := newNode(t)
	got, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	same := netstate.Document{
		Interfaces: []netstate.Interface{{
			Name: "uplink0", Type: netstate.TypeEthernet, State: netstate.StateUp,
			IPv4: &netstate.IP{Enabled: new(true), Addresses: []netstate.Address{{IP: "192.0.2.10", PrefixLength: 24}}},
			IPv6: &netstate.IP{Enabled: new(true), Addresses: []netstate.Address{{IP: "2001:DB8::0:10", PrefixLength: 64}}},
		}},
		Routes: &netstate.Routes{Config: []netstate.Route{
			{Destination: "0.0.0.0/0", NextHopInterface: "uplink0", NextHopAddress: "192.0.2.1"},
			{Destination: "0.0.0.0/0", NextHopInterface: "uplink0", NextHopAddress: "192.0.2.99", State: netstate.StateAbsent},
		}},
		DNS: &netstate.DNS{Config: &netstate.Resolver{Server: []string{"192.0.2.53", "192.0.2.54"}}},
	}
	for name, doc := range map[string]netstate.Document{"written by hand": same, "as observed": {Interfaces: got.Interfaces, Routes: got.Routes, DNS: got.DNS}} {
		t.Run(name, func(t *testing.T) {
			proved := false
			require.NoError(t, n.network().Apply(timeout(t), doc, func(context.Context) error { proved = true; return nil }))
			require.True(t, proved, "the proof runs all the same")
			for _, op := range []string{"checkpoint-create", "connection-update", "device-reapply", "connection-activate"} {
				require.NotContains(t, n.Log(), `op="`+op, "NetworkManager was bothered")
			}
			n.isOld()
		})
	}
}

func TestForeignAddressesAndRoutesStay(t *testing.T) {
	n := newNode(t)
	n.IP("addr", "add", "169.254.169.2/29", "dev", "uplink0")
	n.IP("addr", "add", "fd69::2/125", "dev", "uplink0", "nodad")
	n.IP("route", "add", "172.30.0.0/16", "via", "169.254.169.4", "dev", "uplink0")
	n.canMove()
	require.True(t, n.has("169.254.169.2/29", "fd69::2/125"))
	require.Contains(t, n.IP("route"), "172.30.0.0/16 via 169.254.169.4")
	err := n.network().Apply(timeout(t), document(t, strings.ReplaceAll(moved, "192.0.2.77", "192.0.2.78")), func(context.Context) error {
		return errors.New("no")
	})
	require.ErrorContains(t, err, "the old network is back")
	require.True(t, n.has("192.0.2.77/24", "169.254.169.2/29", "fd69::2/125"), n.IP("addr"))
	require.Contains(t, n.IP("route"), "172.30.0.0/16 via 169.254.169.4")
}

func TestDNSOrder(t *testing.T) {
	for name, servers := range map[string][]string{
		"IPv6 first":     {"2001:db8::53", "2001:db8::35", "192.0.2.53"},
		"IPv4 first":     {"192.0.2.54", "192.0.2.53", "2001:db8::53"},
		"one family":     {"192.0.2.54", "192.0.2.53"},
		"only the other": {"2001:db8::53"},
		"link-local":     {"fe80::53%uplink0", "2001:db8::53", "192.0.2.53"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			doc := netstate.Document{DNS: &netstate.DNS{Config: &netstate.Resolver{Server: servers, Search: []string{"example.net"}}}}
			require.NoError(t, n.network().Apply(timeout(t), doc, nil))
			n.PowerCut()
			n.boot()
			n.StartNM()
			n.Until("the servers are there after a reboot", func() bool {
				got, err := n.network().Observe(timeout(t))
				require.NoError(t, err)
				return len(netstate.Verify(doc, got)) == 0
			})
			n.Until("the addresses, too", func() bool { return n.has("192.0.2.10/24", "2001:db8::10/64") })
		})
	}
}

// Only the global configuration keeps such an order; it must follow the transaction all the same.
func TestDNSOrderAcrossFamilies(t *testing.T) {
	n := newNode(t)
	mixed := []string{"192.0.2.54", "2001:db8::53", "192.0.2.53"}
	servers := func() []string {
		got, err := n.network().Observe(timeout(t))
		require.NoError(t, err)
		return got.DNS.Running.Server
	}
	old := servers()
	doc := netstate.Document{DNS: &netstate.DNS{Config: &netstate.Resolver{Server: mixed}}}
	err := n.network().Apply(timeout(t), doc, func(context.Context) error {
		require.Equal(t, mixed, servers())
		return errors.New("no")
	})
	require.ErrorContains(t, err, "the old network is back")
	require.Equal(t, old, servers())
	n.isOld()

	text, err := doc.Encode()
	require.NoError(t, err)
	n.victim(string(text), "proof").kill()
	n.PowerCut()
	n.boot()
	n.StartNM()
	require.NoError(t, n.network().Recover(timeout(t)))
	n.Until("the old servers are back", func() bool { return slices.Equal(old, servers()) })
	n.isOld()

	require.NoError(t, n.network().Apply(timeout(t), doc, nil))
	n.PowerCut()
	n.boot()
	n.StartNM()
	n.Until("the committed servers boot", func() bool { return slices.Equal(mixed, servers()) })
	n.KillNM()
	n.StartNM()
	require.Equal(t, mixed, servers())
	doc.DNS.Config.Server = old
	require.NoError(t, n.network().Apply(timeout(t), doc, nil))
	require.Equal(t, old, servers())
}

// A card nobody configured gets a profile of its own; going back takes it away again.
func TestNewProfile(t *testing.T) {
	n := newNode(t)
	n.Link("spare0")
	n.IP("link", "set", "spare0", "up")
	doc := document(t, `
interfaces:
- name: spare0
  type: ethernet
  state: up
  ipv4: {enabled: true, address: [{ip: 198.51.100.5, prefix-length: 24}]}
  ipv6: {enabled: false}
routes: {config: [{destination: 203.0.113.0/24, next-hop-interface: spare0, next-hop-address: 198.51.100.1}]}
`)
	n.Until("the card is known", func() bool {
		got, err := n.network().Observe(timeout(t))
		require.NoError(t, err)
		_, ok := got.Find("spare0", netstate.TypeEthernet)
		return ok
	})
	err := n.network().Apply(timeout(t), doc, func(context.Context) error { return errors.New("no") })
	require.ErrorContains(t, err, "the old network is back")
	for _, dir := range []string{nmtest.KeyfileDir, nmtest.VolatileDir} {
		names, err := n.disk.List(dir)
		require.NoError(t, err)
		require.NotContains(t, names, "spare0.nmconnection")
	}
	require.NotContains(t, n.IP("addr", "show", "spare0"), "198.51.100.5")
	n.isOld()

	require.NoError(t, n.network().Apply(timeout(t), doc, nil))
	n.PowerCut()
	n.boot()
	n.Link("spare0")
	n.StartNM()
	n.Until("the new profile boots", func() bool { return strings.Contains(n.IP("addr", "show", "spare0"), "198.51.100.5/24") })
	require.Contains(t, n.IP("route"), "203.0.113.0/24 via 198.51.100.1 dev spare0")
}

func TestProfileMadeAbsent(t *testing.T) {
	n := newNode(t)
	doc := document(t, "interfaces: [{name: uplink0, type: ethernet, state: absent}]")
	err := n.network().Apply(timeout(t), doc, func(context.Context) error {
		_, err := os.Stat(n.keyfile)
		require.NoError(t, err, "deleted only at the commit")
		return errors.New("no")
	})
	require.ErrorContains(t, err, "the old network is back")
	n.isOld()
	require.NoError(t, n.network().Apply(timeout(t), doc, nil))
	_, err = os.Stat(n.keyfile)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.False(t, n.has("192.0.2.10/24"))
	n.settled()
}

func TestVLANNeedsTheKernel(t *testing.T) {
	n := newNode(t)
	doc := document(t, `
interfaces:
- {name: uplink0.7, type: vlan, state: up, vlan: {id: 7, base-iface: uplink0}, ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 24}]}, ipv6: {enabled: false}}
`)
	err := n.network().Apply(timeout(t), doc, nil)
	if err == nil {
		require.Contains(t, n.IP("addr", "show", "uplink0.7"), "198.51.100.7/24")
		return
	}
	require.ErrorContains(t, err, "this kernel has no links of kind vlan")
	n.isOld()
}

func TestVLANWithoutBaseNeedsItsProfile(t *testing.T) {
	n := newNode(t)
	doc := document(t, "interfaces: [{name: uplink0.7, type: vlan, state: up, vlan: {id: 7}, ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 24}]}}]")
	require.ErrorContains(t, n.network().Apply(timeout(t), doc, nil), "a new vlan needs vlan.base-iface")
	n.isOld()
}

func TestDuplicateAddressIsNamed(t *testing.T) {
	n := newNode(t)
	n.Peer("addr", "add", "2001:db8::77/64", "dev", "uplink0p", "nodad")
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/uplink0/dad_transmits", []byte("1"), 0o600))
	doc := document(t, "interfaces: [{name: uplink0, type: ethernet, state: up, ipv6: {enabled: true, address: [{ip: '2001:db8::77', prefix-length: 64}]}}]")
	err := n.network().Apply(timeout(t), doc, nil)
	require.ErrorContains(t, err, "another machine on the link of uplink0 already has 2001:db8::77")
	n.isOld()
}

func TestFamilyTurnedOffAndOn(t *testing.T) {
	n := newNode(t)
	off := document(t, "interfaces: [{name: uplink0, type: ethernet, state: up, ipv6: {enabled: false}}]")
	require.NoError(t, n.network().Apply(timeout(t), off, nil))
	require.False(t, n.has("2001:db8::10/64"))
	require.True(t, n.has("192.0.2.10/24"))
	on := document(t, `
interfaces: [{name: uplink0, type: ethernet, state: up, ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: '2001:db8::11', prefix-length: 64}]}}]
routes: {config: [{destination: '::/0', next-hop-interface: uplink0, next-hop-address: 'fe80::1', metric: 48, table-id: 254}]}
`)
	require.NoError(t, n.network().Apply(timeout(t), on, nil))
	require.True(t, n.has("2001:db8::11/64"))
	require.Contains(t, n.IP("-6", "route"), "default via fe80::1 dev uplink0 proto static metric 48")
}

// After boot the cable may be found only after the change was asked for.
func TestLinkThatComesLate(t *testing.T) {
	n := newNode(t)
	n.Peer("link", "set", "uplink0p", "down")
	n.KillNM()
	n.IP("addr", "flush", "dev", "uplink0")
	n.StartNM()
	done := make(chan error, 1)
	go func() { done <- n.network().Apply(timeout(t), document(t, moved), nil) }()
	n.Peer("link", "set", "uplink0p", "up")
	require.NoError(t, <-done)
	n.isNew()
}
