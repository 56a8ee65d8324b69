package nodenetwork

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

func TestWhatChangesByItselfIsNoContent(t *testing.T) {
	at := func(lifetime string, timer any) netstate.Document {
		return netstate.Document{
			Interfaces: []netstate.Interface{
				{Name: "eth0", Type: netstate.TypeEthernet, State: netstate.StateUp, IPv4: &netstate.IP{Enabled: new(true), DHCP: new(true),
					Addresses: []netstate.Address{{IP: "192.0.2.10", PrefixLength: 24, ValidLifetime: lifetime, PreferredLifetime: lifetime}}}},
				{Name: "br0", Type: netstate.TypeLinuxBridge, Bridge: &netstate.Bridge{Options: &netstate.BridgeOptions{
					HelloTimer: &netstate.Opaque{Value: timer}, GCTimer: &netstate.Opaque{Value: timer}, MACAgeingTime: new(300)}}},
				{Name: "veth" + lifetime, Type: netstate.TypeVeth, State: netstate.StateIgnore},
			},
			Routes: &netstate.Routes{Running: []netstate.Route{
				{Destination: "10.0.0.0/24", NextHopInterface: "veth" + lifetime}, {Destination: "0.0.0.0/0", NextHopInterface: "eth0"},
			}},
			RouteRules: &netstate.RouteRules{Config: []netstate.RouteRule{{Priority: 100}}},
		}
	}
	first, trimmed, err := Content(at("3599sec", 17))
	require.NoError(t, err)
	require.False(t, trimmed)
	second, _, err := Content(at("3400sec", 99))
	require.NoError(t, err)
	require.JSONEq(t, string(first), string(second))
	require.Contains(t, string(first), `"mac-ageing-time":300`)
	require.Contains(t, string(first), `"route-rules"`, "kubernetes-nmstate loses them")
	require.NotContains(t, string(first), "veth")
	require.NotContains(t, string(first), "timer")
	require.NotContains(t, string(first), "life-time")
}

// TestAnyNumberOfInterfacesFits the limit of one object: 2,000 with all their details, then with fewer.
func TestAnyNumberOfInterfacesFits(t *testing.T) {
	for n, wantTrimmed := range map[int]bool{2_000: false, 10_000: true, 60_000: true} {
		content, trimmed, err := Content(Many(n))
		require.NoError(t, err)
		require.LessOrEqual(t, len(content), MaxContent)
		require.Equal(t, wantTrimmed, trimmed, "%d interfaces take %d bytes", n, len(content))
		t.Logf("%d interfaces: %d bytes", n, len(content))
	}
}

// Many is a node with so many VLANs.
func Many(n int) netstate.Document {
	d := netstate.Document{Routes: &netstate.Routes{}}
	for i := range n {
		name := fmt.Sprintf("eth0.%d", i)
		d.Interfaces = append(d.Interfaces, netstate.Interface{
			Name: name, Type: netstate.TypeVLAN, State: netstate.StateUp, MACAddress: "52:54:00:00:00:01", MTU: 1500, MinMTU: 68, MaxMTU: 65535,
			VLAN: &netstate.VLAN{BaseIface: "eth0", ID: i % 4094, Protocol: "802.1q"},
			IPv4: &netstate.IP{Enabled: new(true), DHCP: new(false),
				Addresses: []netstate.Address{{IP: fmt.Sprintf("10.%d.%d.1", i/256%256, i%256), PrefixLength: 24}}},
			IPv6: netstate.Disabled(),
		})
	}
	return d
}
