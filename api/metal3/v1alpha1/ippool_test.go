package v1alpha1_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Every pool that cannot be served is refused, and the sentence says what is wrong with which.
func TestPoolsThatContradictThemselvesAreRefused(t *testing.T) {
	s := server(t)
	for _, c := range []struct {
		name, spec string
		words      []string
	}{
		{"an end alone", `{namePrefix: x, pools: [{end: 192.0.2.9}]}`, []string{"needs a start or a subnet"}},
		{"no prefix of names", `{pools: [{subnet: 192.0.2.0/24}]}`, []string{"namePrefix"}},
		{"start is no address", `{namePrefix: x, pools: [{start: 192.0.2.300, end: 192.0.2.9}]}`, []string{"start", "not 192.0.2.300"}},
		{"subnet is no network", `{namePrefix: x, pools: [{subnet: 192.0.2.0}]}`, []string{"subnet", "not 192.0.2.0"}},
		{"start outside subnet", `{namePrefix: x, pools: [{start: 198.51.100.1, subnet: 192.0.2.0/24}]}`,
			[]string{"start 198.51.100.1 lies outside subnet 192.0.2.0/24"}},
		{"end outside subnet", `{namePrefix: x, pools: [{start: 192.0.2.1, end: 192.0.3.1, subnet: 192.0.2.0/24}]}`,
			[]string{"end 192.0.3.1 lies outside subnet 192.0.2.0/24"}},
		{"IPv4 start with IPv6 end", `{namePrefix: x, pools: [{start: 192.0.2.1, end: "fd00::9"}]}`, []string{"start 192.0.2.1 and end fd00::9", "families"}},
		{"ranges of two families", `{namePrefix: x, pools: [{subnet: 192.0.2.0/24}, {subnet: "fd00::/64"}]}`, []string{"one family"}},
		{"start of one and subnet of another family", `{namePrefix: x, pools: [{start: 192.0.2.1, end: 192.0.2.9}, {subnet: "fd00::/64"}]}`, []string{"one family"}},
		{"gateway of another family", `{namePrefix: x, gateway: "fd00::1", pools: [{subnet: 192.0.2.0/24}]}`, []string{"gateway", "family"}},
		{"gateway of a range of another family", `{namePrefix: x, pools: [{subnet: 192.0.2.0/24, gateway: "fd00::1"}]}`, []string{"gateway fd00::1", "192.0.2.0/24"}},
		{"prefix too long for IPv4", `{namePrefix: x, pools: [{subnet: 192.0.2.0/24, prefix: 64}]}`, []string{"at most 32"}},
		{"reversed range", `{namePrefix: x, pools: [{start: 192.0.2.9, end: 192.0.2.10}, {start: 192.0.2.200, end: 192.0.2.20}]}`,
			[]string{"pool default/p: range 192.0.2.200-192.0.2.20 ends before it begins"}},
		{"reversed IPv6 range", `{namePrefix: x, pools: [{start: "fd00::a000", end: "fd00::9fff"}]}`, []string{"ends before it begins"}},
		{"overlap of ranges", `{namePrefix: x, pools: [{start: 192.0.2.10, end: 192.0.2.20}, {start: 192.0.2.20, end: 192.0.2.30}]}`,
			[]string{"pool default/p: ranges 192.0.2.10-192.0.2.20 and 192.0.2.20-192.0.2.30 overlap"}},
		{"range within a subnet", `{namePrefix: x, pools: [{subnet: 192.0.2.0/24}, {start: 192.0.2.20, end: 192.0.2.30}]}`,
			[]string{"ranges 192.0.2.0/24 and 192.0.2.20-192.0.2.30 overlap"}},
		{"overlap in IPv6, spelled differently", `{namePrefix: x, pools: [{start: "fd00::1", end: "fd00::ffff"}, {start: "FD00:0::00ff", end: "fd00::1:0"}]}`,
			[]string{"overlap"}},
		{"DHCP within a range", `{namePrefix: x, dhcpRange: {start: 172.22.0.50, end: 172.22.0.90}, pools: [{subnet: 172.22.0.0/24}]}`,
			[]string{"pool default/p: DHCP range 172.22.0.50-172.22.0.90 overlaps range 172.22.0.0/24"}},
		{"DHCP around a range", `{namePrefix: x, dhcpRange: {start: 172.22.0.10, end: 172.22.0.90}, pools: [{start: 172.22.0.50, end: 172.22.0.60}]}`,
			[]string{"DHCP range 172.22.0.10-172.22.0.90 overlaps range 172.22.0.50-172.22.0.60"}},
		{"DHCP reversed", `{namePrefix: x, dhcpRange: {start: 172.22.0.90, end: 172.22.0.10}, pools: [{start: 172.22.0.150, end: 172.22.0.160}]}`,
			[]string{"DHCP range 172.22.0.90-172.22.0.10 ends before it begins"}},
		{"DHCP of another family", `{namePrefix: x, dhcpRange: {start: "fd00::1", end: "fd00::9"}, pools: [{start: 172.22.0.150, end: 172.22.0.160}]}`,
			[]string{"dhcpRange", "family"}},
		{"quarantine in days", `{namePrefix: x, quarantine: 1d, pools: [{subnet: 192.0.2.0/24}]}`, []string{"quarantine", "24h", "not 1d"}},
		{"quarantine without a unit", `{namePrefix: x, quarantine: "300", pools: [{subnet: 192.0.2.0/24}]}`, []string{"quarantine", "not 300"}},
		{"quarantine in the past", `{namePrefix: x, quarantine: -5m, pools: [{subnet: 192.0.2.0/24}]}`, []string{"quarantine", "not -5m"}},
		{"quarantine for ever", `{namePrefix: x, quarantine: 9999999999h, pools: [{subnet: 192.0.2.0/24}]}`, []string{"quarantine", "shorter"}},
		{"network is no label", `{namePrefix: x, network: A.b, pools: [{subnet: 192.0.2.0/24}]}`, []string{"network"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			refusedWith(t, s.Client.Create(t.Context(), object(t, "IPPool", "p", c.spec), client.DryRunAll), c.words...)
		})
	}
}

func TestPoolsThatAreAccepted(t *testing.T) {
	s := server(t)
	for name, spec := range map[string]string{
		"start and end":              `{namePrefix: x, pools: [{start: 192.0.2.10, end: 192.0.2.30}]}`,
		"start and prefix":           `{namePrefix: x, prefix: 24, pools: [{start: 192.0.2.10}]}`,
		"neighbours":                 `{namePrefix: x, pools: [{start: 192.0.2.9, end: 192.0.2.20}, {start: 192.0.2.21, end: 192.0.2.100}]}`,
		"neighbours in IPv6":         `{namePrefix: x, pools: [{start: "fd00::9", end: "fd00::ff"}, {start: "fd00::100", end: "fd00::1:0"}]}`,
		"subnets":                    `{namePrefix: x, pools: [{subnet: 192.0.2.0/25}, {subnet: 192.0.2.128/25, prefix: 24}]}`,
		"DHCP beside":                `{namePrefix: x, dhcpRange: {start: 172.22.0.10, end: 172.22.0.99}, pools: [{start: 172.22.0.100, end: 172.22.0.200}]}`,
		"quarantine in two units":    `{namePrefix: x, quarantine: 1h30m, pools: [{subnet: 192.0.2.0/24}]}`,
		"the whole of our additions": `{namePrefix: x, network: storage, vlan: 7, exclusions: ["192.0.2.9", "192.0.2.16/30"], quarantine: 5m, sticky: true, pools: [{subnet: 192.0.2.0/24}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, s.Client.Create(t.Context(), object(t, "IPPool", "p", spec), client.DryRunAll))
		})
	}
}

func TestWhatOfAPoolCanNotBeChanged(t *testing.T) {
	s := server(t)
	create(t, s, object(t, "IPPool", "fixed", `{namePrefix: x, allocationStrategy: random, pools: [{subnet: 192.0.2.0/24}]}`))
	for name, c := range map[string]struct{ patch, words string }{
		"namePrefix":  {`{"spec":{"namePrefix":"y"}}`, "namePrefix cannot be changed"},
		"strategy":    {`{"spec":{"allocationStrategy":"sequential"}}`, "allocationStrategy cannot be changed"},
		"no strategy": {`{"spec":{"allocationStrategy":null}}`, "allocationStrategy cannot be changed"},
		"network":     {`{"spec":{"network":"other"}}`, "network cannot be changed"},
	} {
		t.Run(name, func(t *testing.T) {
			o := object(t, "IPPool", "fixed", `{}`)
			refusedWith(t, s.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(c.patch))), c.words)
		})
	}
	o := object(t, "IPPool", "fixed", `{}`)
	require.NoError(t, s.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"gateway":"192.0.2.1"}}`))))
}

// A pool in use neither goes nor shrinks below what is in use.
func TestPoolInUse(t *testing.T) {
	s := server(t)
	pool := object(t, "IPPool", "used", `{namePrefix: x, pools: [{start: 192.0.2.10, end: 192.0.2.100}]}`)
	require.NoError(t, s.Client.Create(t.Context(), pool))
	status := func(text string) {
		require.NoError(t, s.Client.Status().Patch(context.Background(), pool, client.RawPatch(types.MergePatchType, []byte(text))))
	}
	status(`{"status":{"used":2,"inUse":{"first":"192.0.2.12","last":"192.0.2.90"}}}`)
	change := func(first, last string) error {
		return s.Client.Patch(t.Context(), pool, client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"pools":[{"start":%q,"end":%q}]}}`, first, last)), client.DryRunAll)
	}
	refusedWith(t, change("192.0.2.10", "192.0.2.89"), "pool default/used cannot lose 192.0.2.90, in use")
	refusedWith(t, change("192.0.2.13", "192.0.2.89"), "cannot lose 192.0.2.12 and 192.0.2.90, in use")
	require.NoError(t, change("192.0.2.12", "192.0.2.90"))
	require.NoError(t, change("192.0.2.2", "192.0.2.200"))
	refusedWith(t, s.Client.Delete(t.Context(), pool), "pool default/used cannot be deleted while 2 of its addresses are in use, from 192.0.2.12 to 192.0.2.90")
	status(`{"status":{"used":0,"inUse":null}}`)
	require.NoError(t, s.Client.Delete(t.Context(), pool))
}

func TestSamplesAreAccepted(t *testing.T) {
	s := server(t)
	for _, file := range []string{"ipam_metal3.yaml", "ipam_ippool_storage.yaml", "ipam_ippool_provisioning.yaml"} {
		s.Apply(t, "config/samples/"+file)
	}
}
