package nm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

const anycast = `interfaces:
- {name: lo, type: loopback, state: up, ipv4: {enabled: true, address: [{ip: 127.0.0.1, prefix-length: 8}, {ip: 198.51.100.7, prefix-length: 32}]},
   ipv6: {enabled: true, address: [{ip: '2001:db8:7::7', prefix-length: 128}]}}
`

// TestLoopbackTakesFurtherAddresses: it is shown, keeps the addresses of the kernel in every case, and loses what was configured.
func TestLoopbackTakesFurtherAddresses(t *testing.T) {
	n := newNode(t)
	own := []string{"127.0.0.1/8", "::1/128"}
	has := func(addrs ...string) {
		t.Helper()
		out := n.IP("-o", "addr", "show", "dev", "lo")
		for _, a := range append(own, addrs...) {
			require.Contains(t, out, " "+a+" ")
		}
	}
	bare := n.shown()
	require.Equal(t, []netstate.Address{{IP: "127.0.0.1", PrefixLength: 8}}, n.find("lo", netstate.TypeLoopback).IPv4.Addresses)
	n.inPlace("interfaces: [{name: lo, type: loopback, state: absent}]")
	n.inPlace("interfaces: [{name: lo, type: loopback, state: up, mtu: 65536, ipv4: {enabled: true, address: [{ip: 127.0.0.1, prefix-length: 8}]}}]")
	n.refusedByProof(anycast)
	n.apply(anycast)
	has("198.51.100.7/32", "2001:db8:7::7/128")
	n.inPlace(anycast)
	full := n.shown()
	n.apply(full)
	require.Equal(t, full, n.shown())

	n.apply("interfaces: [{name: lo, state: up, mtu: 16384, ipv4: {enabled: true, address: [{ip: 198.51.100.8, prefix-length: 32}]}}]")
	has("198.51.100.8/32", "2001:db8:7::7/128")
	require.NotContains(t, n.IP("addr", "show", "dev", "lo"), "198.51.100.7")
	require.Contains(t, n.IP("link", "show", "dev", "lo"), "mtu 16384")
	n.apply("interfaces: [{name: lo, state: up, mtu: 65536, ipv4: {enabled: true, address: []}}]")
	has("2001:db8:7::7/128")

	n.PowerCut()
	n.boot()
	n.StartNM()
	n.Until("the uplink is up", func() bool { return n.has("192.0.2.10/24", "2001:db8::10/64") })
	has("2001:db8:7::7/128")

	n.refusedByProof("interfaces: [{name: lo, type: loopback, state: absent}]")
	n.apply("interfaces: [{name: lo, type: loopback, state: absent}]")
	has()
	require.Equal(t, bare, n.shown())
	n.settled()
}

// TestLoopbackHoldsWhatBelongsToNoInterface where no other interface has the family.
func TestLoopbackHoldsWhatBelongsToNoInterface(t *testing.T) {
	n := newNode(t)
	n.apply("interfaces: [{name: uplink0, type: ethernet, state: up, ipv6: {enabled: false}}]")
	for name, doc := range map[string]string{
		"rule":      "route-rules: {config: [{ip-from: '2001:db8:f::/64', priority: 901, action: blackhole}]}",
		"blackhole": "routes: {config: [{destination: '2001:db8:f::/64', route-type: blackhole}]}",
		"servers":   "dns-resolver: {config: {server: ['2001:db8::53']}}",
		"search":    "dns-resolver: {config: {server: ['2001:db8::53'], search: [a.example.org]}}",
	} {
		t.Run(name, func(t *testing.T) {
			n.t = t
			before, err := n.network().Observe(timeout(t))
			require.NoError(t, err)
			n.refusedByProof(doc)
			n.apply(doc)
			n.inPlace(doc)
			n.apply(encoded(t, netstate.Revert(document(t, doc), before)))
			after, err := n.network().Observe(timeout(t))
			require.NoError(t, err)
			require.Equal(t, "{}\n", encoded(t, netstate.Transition(after, before)))
		})
	}
	n.t = t
	n.settled()
}
