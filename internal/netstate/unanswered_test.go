package netstate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnanswered(t *testing.T) {
	got := parse(t, `
interfaces:
- {name: a, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true, autoconf: true, address: [{ip: 'fe80::1', prefix-length: 64}]}}
- {name: b, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, address: [{ip: 192.0.2.9, prefix-length: 24}]}}
- {name: c, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false}}
`)
	say := func(text string) []string { return Unanswered(parse(t, text), got) }
	require.Equal(t, []string{"a: no DHCP answer yet", "a: no IPv6 router or DHCP answer yet"},
		say("interfaces: [{name: a, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true, autoconf: true}}]"))
	require.Equal(t, []string{"a: no DHCP answer for IPv6 yet"}, say("interfaces: [{name: a, ipv6: {enabled: true, dhcp: true, autoconf: false}}]"))
	require.Empty(t, say("interfaces: [{name: a, mtu: 1400}, {name: c, ipv4: {enabled: true, dhcp: true}}, {name: d, ipv4: {enabled: true, dhcp: true}}]"))
	require.Empty(t, say("interfaces: [{name: a, state: absent}, {name: b, ipv4: {enabled: true, dhcp: true}}]"))
	fixed := "interfaces: [{name: b, ipv4: {enabled: true, dhcp: true, address: [{ip: 192.0.2.9, prefix-length: 24}]}}]"
	require.Equal(t, []string{"b: no DHCP answer yet"}, say(fixed))
	got.Interfaces[1].IPv4.Addresses[0].Leased = true
	require.Empty(t, say(fixed))
}
