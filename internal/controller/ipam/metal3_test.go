package ipam

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// Pools that name no network are apart from those of other namespaces, as metal3's are.
func TestNamespacesWithTheSameAddresses(t *testing.T) {
	a, b := newWorld(t), newWorld(t)
	for _, w := range []*world{a, b} {
		w.pool("p", func(s *metal3.IPPoolSpec) { between(1, 1)(s); s.Network = "" })
		w.network = metal3.NamespaceNetwork(w.namespace)
		w.start()
		w.claim("c", "p")
	}
	for _, w := range []*world{a, b} {
		require.Equal(t, "192.0.2.1", w.address("c"))
		require.Equal(t, w.namespace+".namespace.192.0.2.1", w.locks()[0].Name)
		w.poolReason("p", metal3.ReasonExhausted)
		w.delete(&metal3.IPClaim{ObjectMeta: w.meta("c")})
		w.noLocks()
	}
}

// A pool whose addresses another pool of the network holds says which, and by whom.
func TestExhaustedPoolNamesWhatIsInTheWay(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 2))
	w.pool("q", between(1, 2))
	w.start()
	for i := range 2 {
		w.claim(fmt.Sprintf("c%d", i), "p", requested(fmt.Sprintf("192.0.2.%d", i+1)))
		w.address(fmt.Sprintf("c%d", i))
	}
	w.claim("d", "q")
	w.reason("d", metal3.ReasonPoolExhausted)
	require.Contains(t, w.poolReason("q", metal3.ReasonExhausted), fmt.Sprintf(
		"2 of them are locked on network %s by other pools, such as 192.0.2.1 by pool %s/p (IPClaim %s/c0)", w.network, w.namespace, w.namespace))
}

// status.indexes lists what is held, as metal3 does.
func TestIndexesAreFilled(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 9))
	w.start()
	w.claim("a", "p", requested("192.0.2.3"))
	w.contractClaim("b", "p")
	w.address("a")
	w.contractAddress("b")
	p := &metal3.IPPool{}
	w.eventually(func() bool {
		return w.get("p", p) == nil && fmt.Sprint(p.Status.Indexes) == "map[a:192.0.2.3 b:192.0.2.1]"
	}, "both are listed")
	w.delete(&metal3.IPClaim{ObjectMeta: w.meta("a")})
	w.eventually(func() bool { return w.get("p", p) == nil && fmt.Sprint(p.Status.Indexes) == "map[b:192.0.2.1]" }, "one is left")
}

// So many indexes that the object would become large are left out; of two claims of one name the IPClaim is listed.
func TestIndexesAreBounded(t *testing.T) {
	lock := func(i int, kind, group string) *lockv1.AddressLock {
		return &lockv1.AddressLock{Spec: lockv1.AddressLockSpec{State: lockv1.LockHeld, Address: fmt.Sprint(i),
			Claim: &lockv1.ClaimReference{APIGroup: group, Kind: kind, Name: "c"}}}
	}
	native, contract := lock(1, "IPClaim", "ipam.metal3.io"), lock(2, "IPAddressClaim", "ipam.cluster.x-k8s.io")
	for _, both := range [][]*lockv1.AddressLock{{native, contract}, {contract, native}} {
		require.Equal(t, map[string]string{"c": "1"}, indexByClaim(both, 2))
	}
	require.Nil(t, indexByClaim(nil, metal3.MaxIndexes+1))
	require.Nil(t, indexByClaim(nil, 0))
}

// A pool without an address, as metal3 admits it, is exhausted and says why; it serves once it has a range.
func TestPoolsWithoutAnAddressAreExhausted(t *testing.T) {
	w := newWorld(t)
	end := metal3.IPAddressStr("192.0.2.9")
	for name, ranges := range map[string][]metal3.Pool{"empty": nil, "end-only": {{End: &end}}} {
		p := w.pool(name, func(s *metal3.IPPoolSpec) { s.Pools = ranges })
		r := w.start()
		w.claim(name, name)
		w.reason(name, metal3.ReasonPoolExhausted)
		require.Contains(t, w.poolReason(name, metal3.ReasonExhausted), "hold no address")
		change(w, p, func(p *metal3.IPPool) { between(1, 9)(&p.Spec) })
		w.address(name)
		r.stop()
		w.delete(&metal3.IPClaim{ObjectMeta: w.meta(name)})
	}
}

// The first addresses are metal3's where a subnet has host bits, or a prefix that is longer.
func TestSubnetsAsMetal3ReadsThem(t *testing.T) {
	w := newWorld(t)
	subnet := metal3.IPSubnetStr("172.22.0.20/24")
	w.pool("host-bits", func(s *metal3.IPPoolSpec) { s.Pools, s.Prefix = []metal3.Pool{{Subnet: &subnet}}, 27 })
	w.start()
	w.claim("c", "host-bits")
	require.Equal(t, "172.22.0.21", w.address("c"))
	o := &metal3.IPAddress{}
	require.NoError(t, w.get("host-bits-172-22-0-21", o))
	require.Equal(t, 27, o.Spec.Prefix)
}
