package networkdata_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/hostnet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/networkdata"
)

func TestRender(t *testing.T) {
	h := hostnet.Host{Name: "worker-0", Interfaces: []hostnet.Interface{{
		Name: "eth1", MAC: "52:54:00:AA:BB:CC", VLAN: 100, MTU: 1500, Default: true, DNS: []netip.Addr{netip.MustParseAddr("192.0.2.53")},
		Addresses: []hostnet.Address{
			{Prefix: netip.MustParsePrefix("192.0.2.10/25"), Gateway: netip.MustParseAddr("192.0.2.1")},
			{Prefix: netip.MustParsePrefix("2001:db8::10/64")},
		},
	}}}
	out, err := networkdata.Render(h)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"links": [
			{"id": "eth1", "type": "phy", "ethernet_mac_address": "52:54:00:aa:bb:cc", "mtu": 1500},
			{"id": "eth1.100", "type": "vlan", "mtu": 1500, "vlan_link": "eth1", "vlan_id": 100, "vlan_mac_address": "52:54:00:aa:bb:cc"}],
		"networks": [
			{"id": "network0", "type": "ipv4", "link": "eth1.100", "ip_address": "192.0.2.10", "netmask": "255.255.255.128",
			 "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1"}]},
			{"id": "network1", "type": "ipv6", "link": "eth1.100", "ip_address": "2001:db8::10", "netmask": "ffff:ffff:ffff:ffff::", "routes": []}],
		"services": [{"type": "dns", "address": "192.0.2.53"}]}`, string(out))

	h.Interfaces[0].MAC = ""
	_, err = networkdata.Render(h)
	require.EqualError(t, err, "host worker-0: interface eth1.100: networkData needs its MAC address")
}
