package kinds

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go4.org/netipx"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// A list with a pool whose quarantine is no duration is read, and only that pool is refused.
func TestQuarantineThatIsNoDuration(t *testing.T) {
	list := &metal3.IPPoolList{}
	require.NoError(t, json.Unmarshal([]byte(`{"items":[
		{"metadata":{"namespace":"n","name":"days"},"spec":{"quarantine":"1d","pools":[{"subnet":"192.0.2.0/24"}]}},
		{"metadata":{"namespace":"n","name":"hours"},"spec":{"quarantine":"24h","pools":[{"subnet":"192.0.2.0/24"}]}}]}`), list))
	_, err := Spec(&list.Items[0])
	require.EqualError(t, err, `pool n/days: quarantine: "1d" is not a duration such as 30m or 24h`)
	spec, err := Spec(&list.Items[1])
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, spec.Quarantine)
}

// Every field of a pool that is about addresses is read; those of the controller alone are namePrefix and clusterName.
func TestEveryFieldOfAPoolIsRead(t *testing.T) {
	pool := &metal3.IPPool{}
	require.NoError(t, json.Unmarshal([]byte(`{"metadata":{"namespace":"n","name":"p"},"spec":{"network":"storage","vlan":7,"prefix":25,
		"gateway":"192.0.2.1","dnsServers":["192.0.2.2"],"allocationStrategy":"random","sticky":false,"quarantine":"1h",
		"preAllocations":{"master-0":"192.0.2.20"},"exclusions":["192.0.2.30-192.0.2.31"],
		"dhcpRange":{"start":"192.0.2.120","end":"192.0.2.126"},
		"pools":[{"start":"192.0.2.16","end":"192.0.2.63"},
			{"subnet":"198.51.100.0/28","prefix":26,"gateway":"198.51.100.1","dnsServers":["198.51.100.2"]}]}}`), pool))
	got, err := Spec(pool)
	require.NoError(t, err)
	addr := netip.MustParseAddr
	require.Equal(t, ipam.Spec{
		Name: "n/p", Network: "storage", VLAN: 7, Prefix: 25, Gateway: addr("192.0.2.1"), DNS: []netip.Addr{addr("192.0.2.2")},
		Strategy: got.Strategy, Quarantine: time.Hour, Reserved: map[string]netip.Addr{"master-0": addr("192.0.2.20")},
		Exclude: []netipx.IPRange{netipx.MustParseIPRange("192.0.2.30-192.0.2.31")},
		DHCP:    netipx.MustParseIPRange("192.0.2.120-192.0.2.126"),
		Ranges: []ipam.Range{
			{Start: addr("192.0.2.16"), End: addr("192.0.2.63")},
			{Subnet: netip.MustParsePrefix("198.51.100.0/28"), Prefix: 26, Gateway: addr("198.51.100.1"), DNS: []netip.Addr{addr("198.51.100.2")}},
		},
	}, got)
	pool.Spec.AllocationStrategy = metal3.SequentialStrategy
	sequential, err := Spec(pool)
	require.NoError(t, err)
	require.NotEqual(t, got.Strategy, sequential.Strategy)
	pool.Spec.Sticky = true
	sticky, err := Spec(pool)
	require.NoError(t, err)
	require.NotEqual(t, sequential.Strategy, sticky.Strategy)
}
