package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/audit"
)

var shared = apitest.New(apitest.Options{
	CRDs:        []string{"ipam.*.yaml", apitest.CAPIClaims},
	AddToScheme: []func(*runtime.Scheme) error{metal3.AddToScheme, capi.AddToScheme, lockv1.AddToScheme},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// fsck of a cluster: a lock whose claim is no more is found.
func TestFsckOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	api := shared.Server(t).Client
	first, last := metal3.IPAddressStr("192.0.2.1"), metal3.IPAddressStr("192.0.2.9")
	require.NoError(t, api.Create(t.Context(), &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"},
		Spec: metal3.IPPoolSpec{NamePrefix: "p", Prefix: 24, Pools: []metal3.Pool{{Start: &first, End: &last}}}}))
	findings := func() []audit.Finding {
		records, err := readRecords(t.Context(), api)
		require.NoError(t, err)
		require.Len(t, records.Pools, 1)
		facts, err := records.Facts(time.Now())
		require.NoError(t, err)
		return audit.Check(facts)
	}
	require.Empty(t, findings())
	require.NoError(t, api.Create(t.Context(), &lockv1.AddressLock{ObjectMeta: metav1.ObjectMeta{Name: "default.192.0.2.4"},
		Spec: lockv1.AddressLockSpec{Network: "default", Address: "192.0.2.4", State: lockv1.LockHeld, AddressName: "p-192-0-2-4",
			Pool:  lockv1.PoolReference{Namespace: "default", Name: "p"},
			Claim: &lockv1.ClaimReference{APIGroup: "ipam.metal3.io", Kind: "IPClaim", Namespace: "default", Name: "gone", UID: "1"}}}))
	found := findings()
	require.NotEmpty(t, found)
	require.Contains(t, found[0].Text, "192.0.2.4")
}
