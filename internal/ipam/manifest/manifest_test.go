package manifest_test

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/audit"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/hostnet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/manifest"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func options() ipam.Options {
	return ipam.Options{Now: func() time.Time { return now }, Rand: rand.NewPCG(1, 2)}
}

func read(t *testing.T, text string) *manifest.Inventory {
	t.Helper()
	v := &manifest.Inventory{}
	require.NoError(t, v.Read("test", strings.NewReader(text)))
	return v
}

const pools = `
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: a, namespace: ns}
spec: {namePrefix: a, network: net, prefix: 24, pools: [{start: 10.0.0.10, end: 10.0.0.19}]}
---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: a, namespace: other}
spec: {namePrefix: a, network: other, pools: [{start: 10.0.0.10, end: 10.0.0.19}]}
`

func object(kind, name, spec string) string {
	return "---\napiVersion: ipam.metal3.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: ns}\nspec: " + spec + "\n"
}

func contract(kind, name, spec string) string {
	return strings.Replace(object(kind, name, spec), "ipam.metal3.io/v1alpha1", "ipam.cluster.x-k8s.io/v1beta2", 1)
}

func open(t *testing.T, v *manifest.Inventory) *ipam.Pool {
	t.Helper()
	o, err := v.Find("ns/a")
	require.NoError(t, err)
	p, err := v.Open(o, options())
	require.NoError(t, err)
	return p
}

func TestFindWantsOne(t *testing.T) {
	v := read(t, pools)
	_, err := v.Find("a")
	require.EqualError(t, err, "pool a could be any of ns/a, other/a")
	_, err = v.Find("ns/b")
	require.EqualError(t, err, "pool ns/b is in none of the files")
}

// A claim of each kind may have one name; they are two claims with two addresses.
func TestTwoKindsOfOneName(t *testing.T) {
	v := read(t, pools+
		object("IPClaim", "c", "{pool: {name: a}}")+
		object("IPAddress", "a-10-0-0-10", "{claim: {name: c}, pool: {name: a}, address: 10.0.0.10, prefix: 24}")+
		contract("IPAddressClaim", "c", "{poolRef: {apiGroup: ipam.metal3.io, kind: IPPool, name: a}}")+
		contract("IPAddress", "c", "{claimRef: {name: c}, poolRef: {apiGroup: ipam.metal3.io, kind: IPPool, name: a}, address: 10.0.0.11, prefix: 24}"))
	p := open(t, v)
	one, ok := p.Of("IPClaim ns/c")
	require.True(t, ok)
	two, ok := p.Of("IPAddressClaim ns/c")
	require.True(t, ok)
	require.Equal(t, "10.0.0.10 10.0.0.11", one.Address.String()+" "+two.Address.String())
}

// A claim for another provider's pool of the same name is not this pool's business.
func TestAnotherProvidersPoolOfTheSameName(t *testing.T) {
	v := read(t, pools+
		contract("IPAddressClaim", "c", "{poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: a}}")+
		contract("IPAddress", "c", "{claimRef: {name: c}, poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: a}, address: 10.0.0.10, prefix: 24}"))
	require.Equal(t, 0, open(t, v).Stats().Used)
	o, err := v.Find("ns/a")
	require.NoError(t, err)
	plan, err := v.Plan(o, 0, options())
	require.NoError(t, err)
	require.Empty(t, plan.Waiting)
	facts, err := v.Facts(now)
	require.NoError(t, err)
	require.Empty(t, audit.Check(facts))
}

func TestLocksCount(t *testing.T) {
	lock := func(address, rest string) string {
		return "---\napiVersion: ipam.lca.openshift.io/v1alpha1\nkind: AddressLock\nmetadata: {name: net." + address + "}\n" +
			"spec: {network: net, address: " + address + ", pool: {namespace: ns, name: a}, " + rest + "}\n"
	}
	v := read(t, pools+
		lock("10.0.0.10", "state: Held, claim: {apiGroup: ipam.metal3.io, kind: IPClaim, namespace: ns, name: c, uid: u}")+
		lock("10.0.0.11", "state: Quarantined, until: \"2026-03-01T13:00:00Z\"")+
		lock("10.0.0.12", "state: Quarantined, until: \"2026-03-01T11:30:00Z\"")+
		lock("10.9.9.9", "state: Quarantined, until: \"2026-03-01T13:00:00Z\""))
	s := open(t, v).Stats()
	require.Equal(t, 1, s.Used)
	require.Equal(t, 1, s.Quarantined, "a quarantine that is over is over")
	facts, err := v.Facts(now)
	require.NoError(t, err)
	found := audit.Check(facts)
	require.Len(t, found, 1)
	require.Equal(t, "pool ns/a: address 10.0.0.10 is locked for IPClaim ns/c, which does not exist", found[0].Text)
}

func TestReserveTwiceIsOnce(t *testing.T) {
	v := read(t, pools)
	first, err := v.Reserve([]manifest.Reservation{{Pool: "ns/a", Host: "master-0"}, {Pool: "ns/a", Host: "master-1", Address: netip.MustParseAddr("10.0.0.15")}}, options())
	require.NoError(t, err)
	again, err := v.Reserve([]manifest.Reservation{{Pool: "ns/a", Host: "master-1"}, {Pool: "ns/a", Host: "master-0"}}, options())
	require.NoError(t, err)
	require.Equal(t, first[0], again[1])
	require.Equal(t, first[1], again[0])
	require.Len(t, v.Claims, 2)
	require.Empty(t, first[0].Claim.OwnerReferences, "its machine will adopt it")

	_, err = v.Reserve([]manifest.Reservation{{Pool: "ns/a", Host: "worker-0"}, {Pool: "ns/a", Host: "worker-1", Address: netip.MustParseAddr("10.0.0.15")}}, options())
	require.EqualError(t, err, "host worker-1: pool ns/a: address 10.0.0.15 is held by IPClaim ns/master-1-a")
	require.Len(t, v.Claims, 2, "all or none")
}

func TestHostNeedsEveryAddress(t *testing.T) {
	v := read(t, pools)
	_, err := v.Reserve([]manifest.Reservation{{Pool: "ns/a", Host: "master-0"}}, options())
	require.NoError(t, err)
	eth1 := manifest.Attachment{Link: hostnet.Link{Name: "eth1"}, Pools: []string{"ns/a"}}
	h, err := v.Host("master-0", []manifest.Attachment{eth1}, options())
	require.NoError(t, err)
	require.Equal(t, "10.0.0.10/24", h.Interfaces[0].Addresses[0].Prefix.String())
	_, err = v.Host("master-1", []manifest.Attachment{eth1}, options())
	require.EqualError(t, err, "pool ns/a: no address of it is allocated to host master-1; see reserve")
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a: [": "test: document 1: read the YAML",
		"kind: IPPool\napiVersion: ipam.metal3.io/v1alpha1\nspec: {pool: []}": `test: document 1: unknown field "spec.pool"`,
		pools + "---" + pools: "ns/a appears twice",
	} {
		require.ErrorContains(t, (&manifest.Inventory{}).Read("test", strings.NewReader(text)), want)
	}
	v := read(t, pools+object("IPAddress", "x", "{claim: {name: c}, pool: {name: a}, address: nonsense}"))
	_, err := v.Facts(now)
	require.EqualError(t, err, `IPAddress ns/x: "nonsense" is not an IP address`)
}
