package ipam

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

func requested(address string) func(*metal3.IPClaim) {
	return func(c *metal3.IPClaim) {
		c.Annotations = map[string]string{metal3.RequestedAddressAnnotation: address}
	}
}

func forHost(host string) func(*metal3.IPClaim) {
	return func(c *metal3.IPClaim) { c.Annotations = map[string]string{metal3.HostAnnotation: host} }
}

// An address object whose deletion meets conflicts is still there: its deletion is tried until it is gone.
func TestConflictWhileDeletingAnAddress(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 1))
	r := w.start()
	w.claim("first", "p")
	w.address("first")
	var refused atomic.Int64
	conflict := func(verb string, o client.Object) error {
		if _, address := o.(*metal3.IPAddress); !address || verb != "delete" || refused.Add(1) > 3 {
			return nil
		}
		return apierrors.NewConflict(schema.GroupResource{Resource: "ipaddresses"}, o.GetName(), errors.New("changed"))
	}
	r.fail.Store(&conflict)
	w.delete(&metal3.IPClaim{ObjectMeta: w.meta("first")})
	w.eventually(func() bool {
		left := &metal3.IPAddressList{}
		require.NoError(t, w.api.List(t.Context(), left, client.InNamespace(w.namespace)))
		return len(left.Items) == 0 && len(w.locks()) == 0
	}, "neither object nor lock is left")
}

// A claim that found the pool empty is served by itself as soon as an address is back, or the pool grows.
func TestExhaustedClaimIsServedLater(t *testing.T) {
	w := newWorld(t)
	p := w.pool("p", between(1, 1))
	r := w.start()
	first := w.claim("first", "p")
	w.address("first")
	w.claim("second", "p")
	w.claim("third", "p")
	require.Contains(t, w.reason("second", metal3.ReasonPoolExhausted), w.namespace+"/p")
	w.reason("third", metal3.ReasonPoolExhausted)
	w.poolReason("p", metal3.ReasonExhausted)
	c := &metal3.IPClaim{}
	require.NoError(t, w.get("second", c))
	require.NotEmpty(t, *c.Status.ErrorMessage)

	w.delete(first)
	w.eventually(func() bool { return w.addressNow("second") != "" || w.addressNow("third") != "" }, "an address is back")
	change(w, p, func(p *metal3.IPPool) { p.Spec.Pools = []metal3.Pool{span(1, 3)} })
	w.address("second")
	w.address("third")
	require.NoError(t, w.get("second", c))
	require.Nil(t, c.Status.ErrorMessage)
	w.poolReason("p", metal3.ReasonAvailable)
	require.Contains(t, r.events(), "Normal Allocated: "+c.Status.Conditions[0].Message)
}

func TestOneImpossibleClaimDoesNotHoldUpOthers(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 20))
	w.start()
	for i := range 5 {
		w.claim(fmt.Sprintf("bad%d", i), "p", requested("198.51.100.1"))
		w.claim(fmt.Sprintf("good%d", i), "p")
	}
	for i := range 5 {
		w.address(fmt.Sprintf("good%d", i))
		require.Contains(t, w.reason(fmt.Sprintf("bad%d", i), metal3.ReasonAddressOutside), "198.51.100.1", "not: exhausted")
	}
}

func TestRequestedAddress(t *testing.T) {
	w := newWorld(t)
	w.pool("p", func(s *metal3.IPPoolSpec) {
		between(1, 20)(s)
		s.PreAllocations = map[string]metal3.IPAddressStr{"master": "192.0.2.9"}
	})
	w.start()
	w.claim("a", "p", requested("192.0.2.7"))
	require.Equal(t, "192.0.2.7", w.address("a"))
	w.claim("b", "p", requested("192.0.2.7"))
	require.Contains(t, w.reason("b", metal3.ReasonAddressTaken), "192.0.2.7")
	w.claim("c", "p", requested("192.0.2.9"))
	require.Contains(t, w.reason("c", metal3.ReasonAddressTaken), "master")
	w.claim("master", "p", requested("192.0.2.8"))
	w.reason("master", metal3.ReasonRequestsDisagree)
	w.claim("d", "p", requested("nonsense"))
	require.Contains(t, w.reason("d", metal3.ReasonAddressOutside), "nonsense")
	w.delete(&metal3.IPClaim{ObjectMeta: w.meta("a")})
	require.Equal(t, "192.0.2.7", w.address("b"), "once it is free it is served")
}

// Anywhere in a /64, at once.
func TestRequestedAddressInAHugePool(t *testing.T) {
	w := newWorld(t)
	w.pool("p", func(s *metal3.IPPoolSpec) {
		subnet := metal3.IPSubnetStr("fd00:1::/64")
		s.Pools, s.Prefix = []metal3.Pool{{Subnet: &subnet}}, 64
	})
	w.start()
	w.claim("a", "p", requested("fd00:1::ffff:ffff:ffff:fffe"))
	require.Equal(t, "fd00:1::ffff:ffff:ffff:fffe", w.address("a"))
	p := &metal3.IPPool{}
	w.eventually(func() bool { return w.get("p", p) == nil && p.Status.Total == "18446744073709551615" }, "counts are exact")
}

func TestClaimWithoutItsPool(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.claim("early", "later")
	require.Contains(t, w.reason("early", metal3.ReasonPoolNotFound), w.namespace+"/later does not exist")
	w.claim("abroad", "p", func(c *metal3.IPClaim) { c.Spec.Pool.Namespace = "elsewhere" })
	require.Contains(t, w.reason("abroad", metal3.ReasonPoolNotFound), "another namespace")
	w.pool("later", between(1, 9))
	w.address("early")
}

func TestQuickCreateAndDeleteLeaksNothing(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 30))
	w.start()
	for i := range 20 {
		c := w.claim(fmt.Sprintf("c%d", i), "p")
		d := w.contractClaim(fmt.Sprintf("d%d", i), "p")
		require.NoError(t, w.api.Delete(t.Context(), c))
		require.NoError(t, w.api.Delete(t.Context(), d))
	}
	w.noLocks()
	w.eventually(func() bool {
		natives, contracts := &metal3.IPAddressList{}, &capi.IPAddressList{}
		require.NoError(t, w.api.List(t.Context(), natives))
		require.NoError(t, w.api.List(t.Context(), contracts))
		n := 0
		for _, a := range natives.Items {
			if a.Namespace == w.namespace {
				n++
			}
		}
		for _, a := range contracts.Items {
			if a.Namespace == w.namespace {
				n++
			}
		}
		return n == 0
	}, "no address is left")
}

// A finalizer of somebody else, as the machine controllers put one, keeps the address with a claim that is
// on its way out.
func TestForeignFinalizerKeepsTheAddress(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 9))
	w.start()
	c := w.claim("c", "p", func(c *metal3.IPClaim) { c.Finalizers = []string{"example.com/keep", metal3.ClaimFinalizer} })
	w.address("c")
	require.NoError(t, w.api.Delete(t.Context(), c))
	w.claim("d", "p")
	require.Equal(t, "192.0.2.2", w.address("d"))
	require.Equal(t, "192.0.2.1", w.addressNow("c"))
	require.Len(t, w.locks(), 2)
	change(w, c, func(c *metal3.IPClaim) { c.Finalizers = []string{metal3.ClaimFinalizer} })
	w.eventually(func() bool { return len(w.locks()) == 1 }, "released, and the finalizer of a former controller taken off")
	w.delete(c)
}

// The release does not wait for the quarantine; the next claim does not get the address.
func TestQuarantineDoesNotBlockTheRelease(t *testing.T) {
	w := newWorld(t)
	w.pool("p", func(s *metal3.IPPoolSpec) {
		between(1, 2)(s)
		s.Quarantine = "1h"
	})
	w.start()
	c := w.contractClaim("c", "p")
	require.Equal(t, "192.0.2.1", w.contractAddress("c"))
	w.delete(c)
	w.claim("d", "p")
	require.Equal(t, "192.0.2.2", w.address("d"))
	w.claim("e", "p")
	w.reason("e", metal3.ReasonPoolExhausted)
	p := &metal3.IPPool{}
	w.eventually(func() bool { return w.get("p", p) == nil && p.Status.Quarantined == 1 && p.Status.Used == 1 }, "and it is counted")
	change(w, p, func(p *metal3.IPPool) { p.Spec.Quarantine = "" })
	for _, l := range w.locks() { // an administrator ends it
		if l.Spec.State == lockv1.LockQuarantined {
			require.NoError(t, client.IgnoreNotFound(w.api.Delete(t.Context(), &l)), "the operator may have ended it already")
		}
	}
	require.Equal(t, "192.0.2.1", w.address("e"))
}

func TestQuarantineEnds(t *testing.T) {
	w := newWorld(t)
	w.pool("p", func(s *metal3.IPPoolSpec) {
		between(1, 1)(s)
		s.Quarantine = "2s"
	})
	w.start()
	c := w.claim("c", "p")
	w.address("c")
	w.delete(c)
	w.claim("d", "p")
	require.Equal(t, "192.0.2.1", w.address("d"))
	w.delete(&metal3.IPClaim{ObjectMeta: w.meta("d")})
	w.noLocks()
}

// A sticky pool gives a host its address again, across a restart too.
func TestStickyHost(t *testing.T) {
	w := newWorld(t)
	w.pool("p", func(s *metal3.IPPoolSpec) { between(1, 50)(s); s.Sticky = true })
	r := w.start()
	c := w.claim("machine-a", "p", forHost("host-0"))
	had := w.address("machine-a")
	w.delete(c)
	w.eventually(func() bool {
		l := w.locks()
		return len(l) == 1 && l[0].Spec.State == lockv1.LockReserved
	}, "it is kept for the host")
	r.stop()
	w.start()
	w.claim("machine-b", "p", forHost("host-1"))
	require.NotEqual(t, had, w.address("machine-b"))
	w.claim("machine-c", "p", forHost("host-0"))
	require.Equal(t, had, w.address("machine-c"))
	require.Len(t, w.locks(), 2)
}

func TestPausedPoolAndClaim(t *testing.T) {
	w := newWorld(t)
	p := w.pool("p", between(1, 9))
	w.pool("q", between(20, 29))
	w.start()
	change(w, p, func(p *metal3.IPPool) { p.Annotations = map[string]string{metal3.PausedAnnotation: ""} })
	c := w.claim("held", "q", func(c *metal3.IPClaim) { c.Annotations = map[string]string{metal3.PausedAnnotation: ""} })
	w.claim("fence", "q")
	w.address("fence")
	require.Empty(t, w.addressNow("held"))
	change(w, c, func(c *metal3.IPClaim) { c.Annotations = nil })
	w.address("held")
	w.claim("of-p", "p")
	w.claim("fence2", "q")
	w.address("fence2")
	require.Empty(t, w.addressNow("of-p"))
	change(w, p, func(p *metal3.IPPool) { p.Annotations = nil })
	w.address("of-p")
}

// A pool on its way out gives nothing more, and goes with its last claim.
func TestPoolBeingDeleted(t *testing.T) {
	w := newWorld(t)
	p := w.pool("p", between(1, 9))
	w.start()
	c := w.claim("c", "p")
	w.address("c")
	w.eventually(func() bool { return w.get("p", p) == nil && len(p.Finalizers) == 1 }, "the pool is held")
	require.NoError(t, w.api.Delete(t.Context(), p))
	w.poolReason("p", metal3.ReasonDeleting)
	w.claim("late", "p")
	require.Contains(t, w.reason("late", metal3.ReasonPoolNotReady), "being deleted")
	w.delete(c)
	w.delete(p)
	w.noLocks()
}

// Where the policy that refuses it is not installed, a pool that shrank says what it lost, and loses nothing.
func TestPoolThatShrank(t *testing.T) {
	w := newWorld(t)
	p := w.pool("p", between(1, 9))
	w.start()
	w.claim("c", "p", requested("192.0.2.9"))
	w.address("c")
	change(w, p, func(p *metal3.IPPool) { p.Spec.Pools = []metal3.Pool{span(1, 5)} })
	require.Contains(t, w.poolReason("p", metal3.ReasonOutOfRange), "192.0.2.9")
	require.Equal(t, "192.0.2.9", w.address("c"))
	w.delete(&metal3.IPClaim{ObjectMeta: w.meta("c")})
	w.poolReason("p", metal3.ReasonAvailable)
	w.noLocks()
}

// DHCP of one pool over the range of another: what a server leases is not allocated.
func TestDHCPRangeOverAnotherPool(t *testing.T) {
	w := newWorld(t)
	w.pool("static", between(100, 120))
	w.pool("provisioning", func(s *metal3.IPPoolSpec) {
		between(1, 9)(s)
		s.DHCPRange = &metal3.DHCPRange{Start: "192.0.2.50", End: "192.0.2.110"}
	})
	w.start()
	message := w.poolReason("static", metal3.ReasonOverlap)
	require.Contains(t, message, "DHCP range 192.0.2.50-192.0.2.110")
	w.claim("c", "static")
	w.reason("c", metal3.ReasonPoolNotReady)
}

func TestStartOnlyPoolStaysInItsNetwork(t *testing.T) {
	w := newWorld(t)
	w.pool("p", func(s *metal3.IPPoolSpec) {
		first := metal3.IPAddressStr("192.0.2.253")
		s.Pools = []metal3.Pool{{Start: &first}}
	})
	w.start()
	w.claim("a", "p")
	w.claim("b", "p")
	w.address("a")
	w.address("b")
	w.claim("c", "p")
	w.reason("c", metal3.ReasonPoolExhausted)
}

// Served claims cost three writes, with the Cluster API's finalizer four; at rest there are none.
func TestWritesPerClaimAndAtRest(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 99))
	r := w.start()
	w.poolReason("p", metal3.ReasonAvailable)
	settle := func(used int64) int64 {
		p := &metal3.IPPool{}
		w.eventually(func() bool { return w.get("p", p) == nil && p.Status.Used == used }, "the counts are written")
		return r.writes.Load()
	}
	before := settle(0)
	begun := time.Now()
	for i := range 20 {
		w.claim(fmt.Sprintf("c%d", i), "p")
	}
	for i := range 20 {
		w.address(fmt.Sprintf("c%d", i))
	}
	after := settle(20)
	counts := int64(time.Since(begun)/time.Second) + 2
	require.LessOrEqual(t, after-before, 3*20+counts)
	for i := range 20 {
		w.contractClaim(fmt.Sprintf("d%d", i), "p")
	}
	for i := range 20 {
		w.contractAddress(fmt.Sprintf("d%d", i))
	}
	last := settle(40)
	counts = int64(time.Since(begun)/time.Second) + 2
	require.LessOrEqual(t, last-after, 4*20+counts)
	require.Never(t, func() bool { return r.writes.Load() != last }, 3*time.Second, tick, "at rest nothing is written")
	r.stop()
	again := w.start()
	w.eventually(func() bool {
		return again.isLoaded() && again.ledger.supplyOf(types.NamespacedName{Namespace: w.namespace, Name: "p"}) != nil
	}, "it has looked")
	require.Never(t, func() bool { return again.writes.Load() != 0 }, 3*time.Second, tick, "nor after a restart")
}
