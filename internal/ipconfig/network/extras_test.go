package network_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// uplinkExtras is a node of IPv4 as it is observed, whose site put more on the uplink than the installer did, and OVN-Kubernetes
// what it needs.
const uplinkExtras = `
interfaces:
- name: br-ex
  type: ovs-interface
  state: up
  ipv4:
    enabled: true
    address:
    - {ip: 192.0.2.10, prefix-length: 24}
    - {ip: 192.0.2.99, prefix-length: 24}
    - {ip: 203.0.113.9, prefix-length: 24}
    - {ip: 169.254.169.2, prefix-length: 29}
  ipv6:
    enabled: true
    address: [{ip: "2001:db8:7::9", prefix-length: 64}, {ip: "fe80::1234", prefix-length: 64}, {ip: "fd69::2", prefix-length: 112}]
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.1, metric: 48}
  - {destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.2, metric: 400}
  - {destination: 10.9.0.0/16, next-hop-interface: br-ex, next-hop-address: 192.0.2.1, metric: 48}
  - {destination: 10.8.0.0/16, next-hop-interface: br-ex, next-hop-address: 203.0.113.1, metric: 48, source: 192.0.2.10}
  - {destination: 10.7.0.0/16, next-hop-interface: br-ex, next-hop-address: 198.51.100.7, metric: 48, table-id: 100}
  - {destination: 10.6.0.0/16, next-hop-interface: br-ex, metric: 48}
  - {destination: 192.0.2.200/32, next-hop-interface: br-ex, metric: 48}
  - {destination: 172.30.0.0/16, next-hop-interface: br-ex, next-hop-address: 169.254.169.4}
  - {destination: 169.254.169.1/32, next-hop-interface: br-ex}
  - {destination: "::/0", next-hop-interface: br-ex, next-hop-address: "fe80::1", metric: 48}
  - {destination: "fd02::/112", next-hop-interface: br-ex, next-hop-address: "fd69::4"}
  - {destination: 10.5.0.0/16, next-hop-interface: eno2, next-hop-address: 10.4.0.1}
`

// TestWhatElseIsOnTheUplinkIsKept: an address of another network, IPv6 on a cluster of IPv4, and routes whose next hop the node
// reaches are in the document. What leads nowhere is removed, and what OVN-Kubernetes adds is left to it.
func TestWhatElseIsOnTheUplinkIsKept(t *testing.T) {
	now, err := netstate.Decode([]byte(uplinkExtras))
	require.NoError(t, err)
	r := request()
	r.CurrentIPv4Address, r.CurrentIPv4MachineNetwork, r.DNSServers = "192.0.2.10", "192.0.2.0/24", nil
	uplink := network.In(now, "eno1")
	doc, err := network.Render(r, uplink)
	require.NoError(t, err)
	require.NoError(t, netstate.Validate(doc))
	text, err := doc.Encode()
	require.NoError(t, err)
	require.YAMLEq(t, `
interfaces:
- name: eno1
  type: ethernet
  state: up
  ipv4:
    enabled: true
    dhcp: false
    address: [{ip: 198.51.100.20, prefix-length: 24}, {ip: 203.0.113.9, prefix-length: 24}]
  ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: "2001:db8:7::9", prefix-length: 64}]}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.2, state: absent}
  - {destination: 10.9.0.0/16, next-hop-interface: eno1, next-hop-address: 192.0.2.1, state: absent}
  - {destination: 192.0.2.200/32, next-hop-interface: eno1, state: absent}
  - {destination: 10.8.0.0/16, next-hop-interface: eno1, next-hop-address: 203.0.113.1, metric: 48, source: 198.51.100.20}
  - {destination: 10.7.0.0/16, next-hop-interface: eno1, next-hop-address: 198.51.100.7, metric: 48, table-id: 100}
  - {destination: 10.6.0.0/16, next-hop-interface: eno1, metric: 48}
  - {destination: "::/0", next-hop-interface: eno1, next-hop-address: "fe80::1", metric: 48}
  - {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, state: absent}
  - {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 198.51.100.1, metric: 48, table-id: 254}
`, string(text))
	families, err := r.Families()
	require.NoError(t, err)
	require.Equal(t, []string{
		"kept: address 203.0.113.9/24", "kept: address 2001:db8:7::9/64",
		"kept: route 10.8.0.0/16 via 203.0.113.1", "kept: route 10.7.0.0/16 via 198.51.100.7 of table 100", "kept: route 10.6.0.0/16",
		"kept: route ::/0 via fe80::1",
		"left: address 192.0.2.99/24: it is of the network 192.0.2.0/24, which the node leaves",
		"left: route 0.0.0.0/0 via 192.0.2.2: its next hop 192.0.2.2 is on no network of the node after the change",
		"left: route 10.9.0.0/16 via 192.0.2.1: its next hop 192.0.2.1 is on no network of the node after the change",
		"left: route 192.0.2.200/32: it leads into the network 192.0.2.0/24, which the node leaves",
	}, uplink.Extras.Carry(families).Texts())
}

// TestASecondAddressMovesToANewVLAN with the one that is changed; the VLAN that vanishes takes its own routes along.
func TestASecondAddressMovesToANewVLAN(t *testing.T) {
	now, err := netstate.Decode([]byte(uplinkExtras))
	require.NoError(t, err)
	r := request()
	r.VLANID = 200
	uplink := network.In(now, "eno1.100")
	uplink.Base, uplink.VLAN = "eno1", 100
	doc, err := network.Render(r, uplink)
	require.NoError(t, err)
	carrier, found := doc.Find("eno1.200", netstate.TypeVLAN)
	require.True(t, found)
	require.Contains(t, carrier.IPv4.Addresses, netstate.Address{IP: "203.0.113.9", PrefixLength: 24})
	for _, route := range doc.Routes.Config {
		require.Equal(t, "eno1.200", route.NextHopInterface)
		require.False(t, route.Removes())
	}
}
