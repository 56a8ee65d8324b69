package ipconfig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

func TestRequestTakesFromTheNodeWhatTheSpecLeavesOut(t *testing.T) {
	now := ipconfig.Current{
		IPv4:       &lcav1.IPStatus{Address: "192.0.2.10", MachineNetwork: "192.0.2.0/24", Gateway: "192.0.2.1"},
		IPv6:       &lcav1.IPStatus{Address: "2001:db8::10", MachineNetwork: "2001:db8::/64", Gateway: "fe80::1"},
		DNSServers: []string{"192.0.2.53"}, VLANID: 100,
	}
	r := ipconfig.BuildRequest("op", "rhcos", lcav1.IPConfigSpec{IPv4: &lcav1.IPv4Config{Address: "192.0.2.99"}}, now)
	require.Equal(t, "192.0.2.0/24", r.IPv4MachineNetwork)
	require.Equal(t, "192.0.2.1", r.IPv4Gateway)
	require.Equal(t, "2001:db8::10", r.IPv6Address, "the other family stays as it is")
	require.Equal(t, []string{"192.0.2.53"}, r.DNSServers)
	require.Equal(t, 100, r.VLANID, "a VLAN that is not mentioned stays")
	require.Equal(t, "rhcos_ipc-op", r.NewStateroot)
}

func TestARequestForAnAddressThatNoHostHasIsRefused(t *testing.T) {
	r := ipconfig.Request{OperationID: "op", IPv4Address: "240.0.0.10", IPv4MachineNetwork: "240.0.0.0/24", IPv4Gateway: "240.0.0.1"}
	_, err := r.Families()
	require.EqualError(t, err, "request op: address 240.0.0.10 is in 240.0.0.0/4, which is reserved")
}
