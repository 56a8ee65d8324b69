package hostnet_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/hostnet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

func lease(prefix, gateway string, vlan int) ipam.Lease {
	p := netip.MustParsePrefix(prefix)
	return ipam.Lease{Pool: "storage", Address: p.Addr(), Bits: p.Bits(), Gateway: netip.MustParseAddr(gateway), VLAN: vlan, MTU: 9000,
		DNS: []netip.Addr{netip.MustParseAddr("192.0.2.53")}}
}

func host(t *testing.T, link hostnet.Link, leases ...ipam.Lease) hostnet.Host {
	t.Helper()
	i, err := hostnet.FromLeases(link, leases...)
	require.NoError(t, err)
	return hostnet.Host{Name: "worker-0", Interfaces: []hostnet.Interface{i}}
}

func TestKeyfileOfASecondaryNetwork(t *testing.T) {
	h := host(t, hostnet.Link{Name: "eth1", MAC: "52:54:00:aa:bb:cc"}, lease("192.0.2.10/24", "192.0.2.1", 0), lease("2001:db8::10/64", "2001:db8::1", 0))
	h.Interfaces[0].Routes = []hostnet.Route{{Destination: netip.MustParsePrefix("198.51.100.0/24"), Via: netip.MustParseAddr("192.0.2.1")}}
	files, err := h.Keyfiles()
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Equal(t, "lca-eth1.nmconnection", files[0].Name)
	require.Equal(t, `[connection]
id=lca-eth1
uuid=49d860cb-df72-5d61-baab-2e3d516b831a
type=ethernet
autoconnect=true
autoconnect-priority=10
interface-name=eth1

[ethernet]
mac-address=52:54:00:AA:BB:CC
mtu=9000

[ipv4]
method=manual
address1=192.0.2.10/24
never-default=true
route1=198.51.100.0/24,192.0.2.1

[ipv6]
method=manual
address1=2001:db8::10/64
addr-gen-mode=eui64
never-default=true
`, files[0].Text)
}

func TestTheKeyfileOfAVLANLeavesTheInterfaceBelowAlone(t *testing.T) {
	h := host(t, hostnet.Link{Name: "eth1", Default: true}, lease("192.0.2.10/24", "192.0.2.1", 100))
	files, err := h.Keyfiles()
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Contains(t, files[0].Text, "type=vlan\n")
	require.Contains(t, files[0].Text, "interface-name=eth1.100\n\n[vlan]\nflags=1\nid=100\nparent=eth1\n")
	require.Contains(t, files[0].Text, "address1=192.0.2.10/24\ndns=192.0.2.53;\nroute1=0.0.0.0/0,192.0.2.1\n", "a primary network leads everywhere")
	require.NotContains(t, files[0].Text, "never-default")
}

func TestAnInterfaceKnownByItsMACOnly(t *testing.T) {
	h := host(t, hostnet.Link{MAC: "52:54:00:aa:bb:cc"}, lease("192.0.2.10/24", "192.0.2.1", 0))
	files, err := h.Keyfiles()
	require.NoError(t, err)
	require.Equal(t, "lca-52-54-00-aa-bb-cc.nmconnection", files[0].Name)
	require.NotContains(t, files[0].Text, "interface-name")
	_, err = h.State()
	require.EqualError(t, err, "host worker-0: interface 52:54:00:aa:bb:cc: an nmstate document needs its name")
}

func TestPolicyIsADocumentForOneNode(t *testing.T) {
	h := host(t, hostnet.Link{Name: "eth1"}, lease("192.0.2.10/24", "192.0.2.1", 100))
	d, err := h.State()
	require.NoError(t, err)
	require.NoError(t, netstate.Validate(d))
	out, err := h.Policy()
	require.NoError(t, err)
	require.Equal(t, `apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata:
  name: secondary-networks-worker-0
spec:
  desiredState:
    interfaces:
    - ipv4:
        address:
        - ip: 192.0.2.10
          prefix-length: 24
        dhcp: false
        enabled: true
      ipv6:
        enabled: false
      mtu: 9000
      name: eth1.100
      state: up
      type: vlan
      vlan:
        base-iface: eth1
        id: 100
  nodeSelector:
    kubernetes.io/hostname: worker-0
`, string(out))
}

func TestRefusals(t *testing.T) {
	eth1 := hostnet.Link{Name: "eth1"}
	_, err := hostnet.FromLeases(eth1, ipam.Lease{Pool: "p", Address: netip.MustParseAddr("192.0.2.9")})
	require.EqualError(t, err, "pool p: address 192.0.2.9 cannot be configured on eth1: the pool says no prefix length")
	_, err = hostnet.FromLeases(eth1, lease("192.0.2.10/24", "192.0.2.1", 0), lease("2001:db8::10/64", "2001:db8::1", 7))
	require.EqualError(t, err, "pools storage and storage disagree on the VLAN or MTU of eth1")

	for name, kind := range map[string]string{"bond0": "bond", "br-ex": "bridge", "br1": "bridge", "team7": "team", "ib0": "InfiniBand interface"} {
		i := hostnet.Interface{Name: name, Addresses: []hostnet.Address{{Prefix: netip.MustParsePrefix("192.0.2.10/24")}}}
		require.ErrorContains(t, hostnet.Host{Name: "w", Interfaces: []hostnet.Interface{i}}.Validate(), "interface "+name+" is a "+kind+" by its name")
		i.VLAN = 5
		require.NoError(t, hostnet.Host{Name: "w", Interfaces: []hostnet.Interface{i}}.Validate(), "a VLAN of it is an interface of its own")
	}
	for _, name := range []string{"bonding", "brick0", "ibmveth2", "eth0", "bond0.7"} {
		i := hostnet.Interface{Name: name, Addresses: []hostnet.Address{{Prefix: netip.MustParsePrefix("192.0.2.10/24")}}}
		require.NoError(t, hostnet.Host{Name: "w", Interfaces: []hostnet.Interface{i}}.Validate(), name)
	}
	one := host(t, eth1, lease("192.0.2.10/24", "192.0.2.1", 0)).Interfaces[0]
	for want, list := range map[string][]hostnet.Interface{
		"host w: an interface has neither a name nor a MAC address":                         {{}},
		"host w: interface eth1 has no addresses":                                           {{Name: "eth1"}},
		"host w: interface aa: \"aa\" is not a MAC address":                                 {{MAC: "aa"}},
		"host w: interface 52:54:00:aa:bb:cc: VLAN 5 needs the name of the interface below": {{MAC: "52:54:00:aa:bb:cc", VLAN: 5}},
		"host w: interface eth1 appears twice\naddress 192.0.2.10 is on both eth1 and eth1": {one, one},
		"network document: interfaces[eth1].ipv4.address: 192.0.2.255/24 is the network or broadcast address of its own network": {
			{Name: "eth1", Addresses: []hostnet.Address{{Prefix: netip.MustParsePrefix("192.0.2.255/24")}}}},
		"host w: interface eth1: gateway 10.0.0.1 of route 10.9.0.0/16 is not on its network": {
			{Name: "eth1", Addresses: one.Addresses, Routes: []hostnet.Route{{Destination: netip.MustParsePrefix("10.9.0.0/16"), Via: netip.MustParseAddr("10.0.0.1")}}}},
	} {
		require.EqualError(t, hostnet.Host{Name: "w", Interfaces: list}.Validate(), want)
	}
}
