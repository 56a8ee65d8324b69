package ipam

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// tenant is another namespace on the network of a world, and an option for a replica that serves both.
func (w *world) tenant() (*world, func(*ctrl.Options)) {
	w.t.Helper()
	other := *w
	other.namespace = w.namespace + "-tenant"
	require.NoError(w.t, w.api.Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other.namespace}}))
	return &other, func(o *ctrl.Options) { o.Cache.DefaultNamespaces[other.namespace] = cache.Config{} }
}

// later waits until what is made now is younger than a pool.
func (w *world) laterThan(p *metal3.IPPool) {
	w.t.Helper()
	w.later(&metal3.IPClaim{ObjectMeta: p.ObjectMeta})
}

// A pool of another namespace on a network does not close it, takes nothing of it, and says whose the network is; with a grant it is a
// pool as any other, and without it again it allocates nothing new and keeps what it has.
func TestAPoolOfAnotherNamespaceDoesNotCloseTheNetwork(t *testing.T) {
	w := newWorld(t)
	own := w.pool("own", between(1, 9))
	w.laterThan(own)
	tenant, both := w.tenant()
	w.start(both)
	hostile := tenant.pool("hostile", func(s *metal3.IPPoolSpec) {
		between(1, 4)(s)
		s.DHCPRange = &metal3.DHCPRange{Start: "192.0.2.5", End: "192.0.2.200"}
	})
	message := tenant.poolReason("hostile", metal3.ReasonNotGranted)
	require.Contains(t, message, "network "+w.network+" belongs to namespace "+w.namespace+", whose pool "+w.namespace+"/own was created first")
	require.Contains(t, message, metal3.NetworkGrantAnnotation)
	tenant.claim("c", "hostile")
	require.Contains(t, tenant.reason("c", metal3.ReasonPoolNotReady), "belongs to namespace")
	w.claim("mine", "own")
	require.Equal(t, "192.0.2.1", w.address("mine"))
	w.poolReason("own", metal3.ReasonAvailable)

	tenant.delete(hostile)
	tenant.pool("guest", between(1, 4))
	tenant.claim("d", "guest")
	tenant.reason("d", metal3.ReasonPoolNotReady)
	change(w, own, func(p *metal3.IPPool) {
		p.Annotations = map[string]string{metal3.NetworkGrantAnnotation: "elsewhere, " + tenant.namespace}
	})
	require.Equal(t, "192.0.2.2", tenant.address("d"))
	require.Contains(t, w.poolReason("own", metal3.ReasonOverlap), tenant.namespace+"/guest")
	change(w, own, func(p *metal3.IPPool) { p.Annotations = nil })
	tenant.poolReason("guest", metal3.ReasonNotGranted)
	w.poolReason("own", metal3.ReasonAvailable)
	require.Equal(t, "192.0.2.2", tenant.address("d"))
	tenant.claim("e", "guest")
	tenant.reason("e", metal3.ReasonPoolNotReady)
	w.claim("picky", "own", requested("192.0.2.2"))
	require.Contains(t, w.reason("picky", metal3.ReasonAddressTaken), tenant.namespace+"/d", "what is in use is nobody else's")
}

// The pool that comes next gets a network whose pools are gone; a pool that cannot be read is one of them all the same.
func TestANetworkWithoutItsOwnerIsTheNextNamespaces(t *testing.T) {
	w := newWorld(t)
	own := w.pool("own", between(1, 9))
	w.laterThan(own)
	tenant, both := w.tenant()
	w.start(both)
	tenant.pool("next", between(1, 9))
	tenant.claim("c", "next")
	tenant.reason("c", metal3.ReasonPoolNotReady)
	w.delete(own)
	require.Equal(t, "192.0.2.1", tenant.address("c"))
}

// Address objects without a lock, which anybody may make who has a pool, keep no address of a network that is another namespace's.
func TestObjectsOfAnotherNamespaceKeepNoAddress(t *testing.T) {
	w := newWorld(t)
	own := w.pool("own", between(1, 2))
	w.laterThan(own)
	tenant, both := w.tenant()
	tenant.pool("hostile", between(1, 2))
	register := func(address string) *metal3.IPAddress {
		_, o := given(tenant, &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Name: "hostile"}}, &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Name: "none"}}, address)
		require.NoError(t, w.api.Create(t.Context(), o))
		return o
	}
	register("192.0.2.1")
	r := w.start(both)
	tenant.poolReason("hostile", metal3.ReasonNotGranted)
	second := register("192.0.2.2")
	w.eventually(func() bool {
		return len(r.ledger.objectsOf(native{}.keyOf(client.ObjectKey{Namespace: tenant.namespace, Name: "none"}))) == 2
	},
		"the operator knows of %s", second.Name)
	for _, name := range []string{"c", "d"} {
		w.claim(name, "own")
		w.address(name)
	}
	require.Equal(t, lockv1.LockName(w.network, netip.MustParseAddr("192.0.2.2")), w.locks()[1].Name)
}

// With the webhook such a pool is refused when it is applied, and does not keep the owner from changing its own.
func TestAPoolOfAnotherNamespaceIsRefusedWhenApplied(t *testing.T) {
	w := newWorld(t)
	own := w.pool("own", between(1, 9))
	w.laterThan(own)
	tenant, _ := w.tenant()
	tenant.pool("before", between(1, 9))
	w.refuseOverlaps()
	tenant.refuseOverlaps()
	made := func(network string) *metal3.IPPool {
		p := &metal3.IPPool{ObjectMeta: tenant.meta("p"), Spec: metal3.IPPoolSpec{NamePrefix: "p", Network: network, Prefix: 24}}
		between(100, 120)(&p.Spec)
		return p
	}
	w.eventually(func() bool { return w.api.Create(t.Context(), made(w.network), client.DryRunAll) != nil }, "the webhook is asked")
	err := w.api.Create(t.Context(), made(w.network))
	require.ErrorContains(t, err, "network "+w.network+" belongs to namespace "+w.namespace)
	require.NoError(t, w.api.Create(t.Context(), made(w.network+"-own")))
	change(w, own, func(p *metal3.IPPool) { p.Spec.Pools = []metal3.Pool{span(1, 12)} })
}
