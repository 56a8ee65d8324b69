package metal3_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
		{"a range of nothing", `{namePrefix: x, pools: [{prefix: 24}]}`, []string{"needs a start, an end or a subnet"}},
		{"a prefix that begins no name", `{namePrefix: Storage_1, pools: [{subnet: 192.0.2.0/24}]}`, []string{"namePrefix", "not Storage_1"}},
		{"a prefix that ends with a dot", `{namePrefix: a., pools: [{subnet: 192.0.2.0/24}]}`, []string{"namePrefix", "not a."}},
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
		{"DHCP after host bits", `{namePrefix: x, dhcpRange: {start: 172.22.0.10, end: 172.22.0.21}, pools: [{subnet: 172.22.0.20/24}]}`,
			[]string{"pool default/p: DHCP range 172.22.0.10-172.22.0.21 overlaps range 172.22.0.20/24"}},
		{"start alone before another", `{namePrefix: x, pools: [{start: 192.0.2.10}, {subnet: 198.51.100.0/24}]}`,
			[]string{"ranges 192.0.2.10-the end of all addresses and 198.51.100.0/24 overlap"}},
		{"ranges that leave their prefix and overlap", `{namePrefix: x, prefix: 24, pools: [{start: 192.0.2.10, end: 192.0.4.9}, {start: 192.0.3.1, end: 192.0.3.9}]}`,
			[]string{"overlap"}},
		{"reserved outside", `{namePrefix: x, pools: [{start: 192.0.2.10, end: 192.0.2.30}], preAllocations: {m0: 192.0.2.20, m1: 192.0.2.31}}`,
			[]string{"pool default/p: address 192.0.2.31 reserved for m1 lies outside its ranges"}},
		{"reserved before host bits", `{namePrefix: x, pools: [{subnet: 192.0.2.20/24}], preAllocations: {m0: 192.0.2.20}}`, []string{"192.0.2.20 reserved for m0"}},
		{"reserved in an empty pool", `{namePrefix: x, preAllocations: {m0: 192.0.2.20}}`, []string{"192.0.2.20 reserved for m0"}},
		{"reserved twice", `{namePrefix: x, pools: [{subnet: "fd00::/64"}], preAllocations: {m0: "fd00::1", m1: "FD00:0::0001"}}`,
			[]string{"pool default/p: address fd00::1 is reserved for", "m0", "m1"}},
		{"reserved is no address", `{namePrefix: x, pools: [{subnet: 192.0.2.0/24}], preAllocations: {m0: nonsense}}`, []string{"preAllocations", "not nonsense"}},
		{"exclusion is nothing", `{namePrefix: x, exclusions: [nonsense], pools: [{subnet: 192.0.2.0/24}]}`, []string{"exclusions", "not nonsense"}},
		{"exclusion with a bad end", `{namePrefix: x, exclusions: [192.0.2.1-192.0.2.300], pools: [{subnet: 192.0.2.0/24}]}`, []string{"exclusions", "192.0.2.300"}},
		{"exclusion reversed", `{namePrefix: x, exclusions: [192.0.2.9-192.0.2.1], pools: [{subnet: 192.0.2.0/24}]}`,
			[]string{"pool default/p: exclusion 192.0.2.9-192.0.2.1 is reversed"}},
		{"exclusion of another family", `{namePrefix: x, exclusions: ["fd00::/64"], pools: [{subnet: 192.0.2.0/24}]}`,
			[]string{"pool default/p: exclusion fd00::/64 is of another family"}},
		{"exclusion of two families", `{namePrefix: x, exclusions: ["192.0.2.1-fd00::1"], pools: [{subnet: 192.0.2.0/24}]}`, []string{"of another family"}},
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
		"start alone":                `{namePrefix: x, pools: [{start: 192.0.2.10}]}`,
		"end alone":                  `{namePrefix: x, pools: [{end: 192.0.2.10}]}`,
		"no ranges":                  `{namePrefix: x}`,
		"no ranges in the list":      `{namePrefix: x, pools: []}`,
		"host bits":                  `{namePrefix: x, pools: [{subnet: 172.22.0.20/24}]}`,
		"DHCP up to the host bits":   `{namePrefix: x, dhcpRange: {start: 172.22.0.10, end: 172.22.0.20}, pools: [{subnet: 172.22.0.20/24}]}`,
		"prefix longer than subnet":  `{namePrefix: x, prefix: 26, pools: [{subnet: 192.0.2.0/24}]}`,
		"range leaves its prefix":    `{namePrefix: x, prefix: 24, pools: [{start: 192.0.2.10, end: 192.0.3.30}]}`,
		"all kinds of exclusions":    `{namePrefix: x, pools: [{subnet: 192.0.2.0/24}], exclusions: [192.0.2.1, 192.0.2.16/30, 192.0.2.40-192.0.2.49, "192.0.2.60 - 192.0.2.61"]}`,
		"exclusions of IPv6":         `{namePrefix: x, pools: [{subnet: "fd00::/64"}], exclusions: ["fd00::1", "fd00::100/120", "fd00::A-fd00::f"]}`,
		"reserved":                   `{namePrefix: x, pools: [{subnet: 192.0.2.0/24}], preAllocations: {m0: 192.0.2.1, m1: 192.0.2.254}}`,
		"prefix with dots":           `{namePrefix: a.b-c-, pools: [{subnet: 192.0.2.0/24}]}`,
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

// A pool of its namespace's network cannot move to another, nor back.
func TestPoolWithoutANetworkKeepsThatOfItsNamespace(t *testing.T) {
	s := server(t)
	create(t, s, object(t, "IPPool", "nameless", `{namePrefix: x, pools: [{subnet: 192.0.2.0/24}]}`))
	o := object(t, "IPPool", "nameless", `{}`)
	require.NoError(t, s.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	_, named := o.Object["spec"].(map[string]any)["network"]
	require.False(t, named, "no default is written into it")
	refusedWith(t, s.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"network":"default"}}`))), "network cannot be changed")
}

// A pool with more reserved addresses than the policy can compare is admitted: the controller compares them.
func TestManyReservedAddressesAreAdmitted(t *testing.T) {
	s := server(t)
	for _, n := range []int{250, 1000, 4000} {
		o := object(t, "IPPool", "many", `{namePrefix: x, pools: [{subnet: 10.0.0.0/16}]}`)
		all := map[string]any{}
		for i := range n {
			all[fmt.Sprintf("m%d", i)] = fmt.Sprintf("10.0.%d.%d", 1+i/250, 1+i%250)
		}
		o.Object["spec"].(map[string]any)["preAllocations"] = all
		require.NoError(t, s.Client.Create(t.Context(), o, client.DryRunAll), "%d", n)
	}
}

// The names by which metal3's kinds are known on the command line, but for ipc, which is IPConfig's.
func TestShortNames(t *testing.T) {
	s := server(t)
	for kind, names := range map[string]string{
		"ippools":     "ipp ippool m3ipp m3ippool m3ippools metal3ipp metal3ippool metal3ippools",
		"ipclaims":    "ipc3 ipclaim m3ipc m3ipclaim m3ipclaims metal3ipc metal3ipclaim metal3ipclaims",
		"ipaddresses": "ipa ipaddress m3ipa m3ipaddress m3ipaddresses metal3ipa metal3ipaddress metal3ipaddresses",
	} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, s.Client.Get(t.Context(), types.NamespacedName{Name: kind + ".ipam.metal3.io"}, crd))
		require.Equal(t, strings.Fields(names), crd.Spec.Names.ShortNames)
	}
}

func TestSamplesAreAccepted(t *testing.T) {
	s := server(t)
	for _, file := range []string{"ipam_metal3.yaml", "ipam_ippool_storage.yaml", "ipam_ippool_provisioning.yaml"} {
		s.Apply(t, "config/samples/"+file)
	}
}
