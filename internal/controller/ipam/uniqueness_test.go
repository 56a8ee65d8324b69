package ipam

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// Two replicas, claims of both kinds on one pool: one address object of either kind exists for an address.
func TestTwoReplicasAndBothKindsShareAPoolWithoutDuplicates(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 60))
	w.start()
	w.start()
	for i := range 25 {
		w.claim(fmt.Sprintf("c%d", i), "p")
		w.contractClaim(fmt.Sprintf("c%d", i), "p")
	}
	got := map[string]string{}
	for i := range 25 {
		name := fmt.Sprintf("c%d", i)
		for kind, a := range map[string]string{"IPClaim": w.address(name), "IPAddressClaim": w.contractAddress(name)} {
			require.Empty(t, got[a], "%s has two owners", a)
			got[a] = kind + " " + name
		}
	}
	w.eventually(func() bool { return len(w.locks()) == 50 }, "one lock each")
}

func TestPoolsThatOverlapGiveAnAddressOutOnce(t *testing.T) {
	for _, prefixes := range [][]string{{"a", "b"}, {"same", "same"}} {
		t.Run(fmt.Sprint(prefixes), func(t *testing.T) {
			w := newWorld(t)
			for i, name := range []string{"p", "q"} {
				w.pool(name, func(s *metal3.IPPoolSpec) { between(1, 4)(s); s.NamePrefix = prefixes[i] })
			}
			w.start()
			for _, name := range []string{"p", "q"} {
				require.Contains(t, w.poolReason(name, metal3.ReasonOverlap), "192.0.2.1-192.0.2.4")
			}
			seen := map[string]bool{}
			for i := range 2 {
				for _, pool := range []string{"p", "q"} {
					name := fmt.Sprintf("%s%d", pool, i)
					w.claim(name, pool)
					a := w.address(name)
					require.False(t, seen[a], "%s twice", a)
					seen[a] = true
				}
			}
			w.claim("more", "q")
			require.Contains(t, w.reason("more", metal3.ReasonPoolExhausted), w.namespace+"/q")
			for _, name := range []string{"p", "q"} { // that none is left goes before the overlap, and its message says where they are
				require.Contains(t, w.poolReason(name, metal3.ReasonExhausted), "2 of them are locked on network "+w.network)
			}
		})
	}
}

// The same prefix of names and the same address, but on two networks: two address objects.
func TestSameAddressOnTwoNetworks(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"p", "q"} {
		w.pool(name, func(s *metal3.IPPoolSpec) {
			between(1, 1)(s)
			s.NamePrefix, s.Network = "same", w.network+name
		})
	}
	w.start()
	w.claim("cp", "p")
	w.claim("cq", "q")
	require.Equal(t, "192.0.2.1", w.address("cp"))
	require.Equal(t, "192.0.2.1", w.address("cq"))
}

func TestClaimOnAnotherProvidersPoolIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 9))
	w.start()
	w.contractClaim("other", "p", func(c *capi.IPAddressClaim) {
		c.Spec.PoolRef.APIGroup, c.Spec.PoolRef.Kind = "ipam.cluster.x-k8s.io", "InClusterIPPool"
	})
	w.contractClaim("ours", "p")
	w.contractAddress("ours")
	c := &capi.IPAddressClaim{}
	require.NoError(t, w.get("other", c))
	require.Empty(t, c.Status.Conditions)
	require.Empty(t, c.Finalizers)
}

// A pre-allocation is kept from others however it is spelled.
func TestPreAllocationInAnotherSpelling(t *testing.T) {
	w := newWorld(t)
	w.pool("p", func(s *metal3.IPPoolSpec) {
		first, last := metal3.IPAddressStr("fd00::1"), metal3.IPAddressStr("fd00::9")
		s.Pools, s.Prefix = []metal3.Pool{{Start: &first, End: &last}}, 64
		s.PreAllocations = map[string]metal3.IPAddressStr{"master-0": "FD00:0:0::0001"}
	})
	w.start()
	w.claim("other", "p")
	require.Equal(t, "fd00::2", w.address("other"))
	w.claim("master-0", "p")
	require.Equal(t, "fd00::1", w.address("master-0"))
}

// An address object that somebody deletes is made again; its address is nobody else's meanwhile.
func TestDeletedAddressObjectComesBack(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 9))
	w.start()
	c := w.claim("c", "p")
	require.Equal(t, "192.0.2.1", w.address("c"))
	require.NoError(t, w.get("c", c))
	o := &metal3.IPAddress{ObjectMeta: w.meta(c.Status.Address.Name)}
	require.NoError(t, w.get(o.Name, o))
	was := o.UID
	require.NoError(t, w.api.Delete(t.Context(), o))
	w.claim("d", "p")
	require.Equal(t, "192.0.2.2", w.address("d"))
	w.eventually(func() bool { return w.get(o.Name, o) == nil && o.UID != was }, "it is made again")
	require.Equal(t, "192.0.2.1", w.address("c"))
}

// What a former controller gave out, or an installer registered, is adopted with its lock.
func TestAddressesFromBeforeLocksAreAdopted(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 9))
	for i, name := range []string{"master-0", "master-1"} {
		require.NoError(t, w.api.Create(t.Context(), &metal3.IPAddress{ObjectMeta: w.meta("registered-" + name),
			Spec: metal3.IPAddressSpec{Claim: metal3.ObjectReference{Name: name}, Pool: metal3.ObjectReference{Name: "p"}, Prefix: 24,
				Address: metal3.IPAddressStr(fmt.Sprintf("192.0.2.%d", i+1))}}))
	}
	w.start()
	w.claim("worker", "p")
	require.Equal(t, "192.0.2.3", w.address("worker"), "registered addresses are kept, their claims not being there yet")
	w.claim("master-1", "p")
	require.Equal(t, "192.0.2.2", w.address("master-1"))
	c := &metal3.IPClaim{}
	require.NoError(t, w.get("master-1", c))
	require.Equal(t, "registered-master-1", c.Status.Address.Name)
	require.Len(t, w.locks(), 2)
	w.delete(c)
	w.eventually(func() bool { return len(w.locks()) == 1 }, "and released as any other")
}

// A claim of the same name is another claim: what the former had is released first.
func TestClaimMadeAgainWhileNobodyWatched(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 9))
	first := w.start()
	c := w.claim("c", "p")
	w.address("c")
	first.stop()
	require.NoError(t, w.api.Delete(t.Context(), c))
	w.claim("gone-and-stays", "p")
	again := w.claim("c", "p")
	w.start()
	w.eventually(func() bool {
		locks := w.locks()
		if len(locks) != 2 {
			return false
		}
		for _, l := range locks {
			if l.Spec.Claim.Name == "c" && l.Spec.Claim.UID != again.UID {
				return false
			}
		}
		return true
	}, "one lock for each of the two claims that there are")
	w.address("c")
	o := &metal3.IPAddressList{}
	require.NoError(t, w.api.List(t.Context(), o))
	for _, a := range o.Items {
		if a.Namespace == w.namespace && a.Spec.Claim.Name == "c" {
			require.Contains(t, a.OwnerReferences, metav1.OwnerReference{
				APIVersion: "ipam.metal3.io/v1alpha1", Kind: "IPClaim", Name: "c", UID: again.UID})
		}
	}
}
