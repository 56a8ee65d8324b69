package network_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

func request() ipconfig.Request {
	return ipconfig.Request{
		OperationID: "op", NewStateroot: "n", OldStateroot: "o",
		IPv4Address: "198.51.100.20", IPv4MachineNetwork: "198.51.100.0/24", IPv4Gateway: "198.51.100.1", CurrentIPv4Gateway: "192.0.2.1",
		DNSServers: []string{"198.51.100.53", "198.51.100.54"},
	}
}

func TestNetworkDocumentOfAnUntaggedUplink(t *testing.T) {
	doc, err := network.Render(request(), network.Uplink{Name: "eno1", Base: "eno1"})
	require.NoError(t, err)
	text, err := doc.Encode()
	require.NoError(t, err)
	back, err := netstate.Decode(text)
	require.NoError(t, err)
	require.Equal(t, doc, back)
	require.YAMLEq(t, `
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.20, prefix-length: 24}]}, ipv6: {enabled: false}}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, state: absent}
  - {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 198.51.100.1, metric: 48, table-id: 254}
dns-resolver: {config: {server: [198.51.100.53, 198.51.100.54]}}
`, string(text))
}

func TestVLANMayBeAddedChangedAndRemoved(t *testing.T) {
	names := func(d netstate.Document) (out []string) {
		for _, i := range d.Interfaces {
			out = append(out, i.Name+" "+i.Type+" "+i.State)
		}
		return out
	}
	for name, c := range map[string]struct {
		before network.Uplink
		vlan   int
		want   []string
	}{
		"added":   {network.Uplink{Name: "eno1", Base: "eno1"}, 100, []string{"eno1 ethernet up", "eno1.100 vlan up"}},
		"changed": {network.Uplink{Name: "eno1.100", Base: "eno1", VLAN: 100}, 200, []string{"eno1 ethernet up", "eno1.200 vlan up", "eno1.100 vlan absent"}},
		"removed": {network.Uplink{Name: "eno1.100", Base: "eno1", VLAN: 100}, 0, []string{"eno1 ethernet up", "eno1.100 vlan absent"}},
		"bond":    {network.Uplink{Name: "bond0", Base: "bond0", Type: "bond"}, 0, []string{"bond0 bond up"}},
		"on bond": {network.Uplink{Name: "bond0.100", Base: "bond0", VLAN: 100, Type: "bond"}, 200,
			[]string{"bond0 bond up", "bond0.200 vlan up", "bond0.100 vlan absent"}},
		"on a long name": {network.Uplink{Name: "enp152s0f1np1", Base: "enp152s0f1np1"}, 4094,
			[]string{"enp152s0f1np1 ethernet up", "enp152s0f1.4094 vlan up"}},
		"kept": {network.Uplink{Name: "bond", Base: "eno1", VLAN: 100}, 100, []string{"eno1 ethernet up", "bond vlan up"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			r.VLANID = c.vlan
			doc, err := network.Render(r, c.before)
			require.NoError(t, err)
			require.NoError(t, netstate.Validate(doc))
			require.Equal(t, c.want, names(doc))
		})
	}
}
