package ipam

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// starting is a replica that has just started: of the locks that are held it knows none.
func (w *world) starting() *Reconciler {
	metrics, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(w.t, err)
	return New(Options{Client: client.NewNamespacedClient(w.api, w.namespace), Reader: client.NewNamespacedClient(w.api, w.namespace), Events: &replica{},
		Log: flow.Discard(), Metrics: metrics, Now: time.Now, Contract: true, Name: "starting"})
}

// TestServedBeforeLocksAreKnown: who waits is served by what the address objects and the API tell, and nobody gets what is taken.
func TestServedBeforeLocksAreKnown(t *testing.T) {
	w := newWorld(t)
	pool := w.pool("p", between(10, 15))
	w.taken(pool)
	w.claim("new", "p")
	w.contractClaim("newer", "p")
	w.claim("paused", "p", func(c *metal3.IPClaim) { c.Annotations = map[string]string{metal3.PausedAnnotation: ""} })
	w.claim("stray", "no-such-pool")
	other := w.claim("foreign", "p", func(c *metal3.IPClaim) { c.Spec.Pool.APIVersion, c.Spec.Pool.Kind = "another.io/v1", "IPPool" })

	r := w.starting()
	require.NoError(t, r.serveEarly(t.Context()))

	require.ElementsMatch(t, []string{"192.0.2.14", "192.0.2.15"}, []string{w.addressNow("new"), w.contractAddress("newer")}, "all that is left")
	for _, name := range []string{"paused", "stray", other.Name} {
		c := &metal3.IPClaim{}
		require.NoError(t, w.get(name, c))
		require.Empty(t, c.Status, "%s is the controller's to judge", name)
	}
	addresses := map[string]int{}
	for _, l := range w.locks() {
		addresses[l.Spec.Address]++
	}
	require.Equal(t, map[string]int{"192.0.2.10": 1, "192.0.2.12": 1, "192.0.2.13": 1, "192.0.2.14": 1, "192.0.2.15": 1}, addresses)
	c := &metal3.IPClaim{}
	require.NoError(t, w.get("new", c))
	require.True(t, r.ledger.outdated(native{}.key(client.ObjectKeyFromObject(c)), "1"), "a cache that is behind is not believed")
}

// taken has the first four addresses of a pool taken, each in a way of its own: with lock and object, with an object alone, resting, and
// with a lock whose holder got no further.
func (w *world) taken(pool *metal3.IPPool) {
	w.t.Helper()
	told := func(name, address string) (*lockv1.AddressLock, *metal3.IPAddress) {
		c := w.claim(name, pool.Name)
		lock, object := given(w, pool, c, address)
		c.Status.Address = &metal3.ObjectReference{Name: object.Name}
		require.NoError(w.t, w.api.Status().Update(w.t.Context(), c))
		return lock, object
	}
	lock, object := told("whole", "192.0.2.10")
	_, alone := told("registered", "192.0.2.11")
	until := metav1.NewTime(time.Now().Add(time.Hour))
	resting, _ := told("gone", "192.0.2.12")
	resting.Spec.State, resting.Spec.Claim, resting.Spec.Until = lockv1.LockQuarantined, nil, &until
	halfway, _ := told("halfway", "192.0.2.13")
	for _, o := range []client.Object{lock, object, alone, resting, halfway} {
		require.NoError(w.t, w.api.Create(w.t.Context(), o))
	}
}

// TestEarlyAnswerStands: a lock that the claim had already, of a replica that got no further, is let go of.
func TestEarlyAnswerStands(t *testing.T) {
	w := newWorld(t)
	pool := w.pool("p", between(10, 16))
	abandoned, _ := given(w, pool, w.claim("new", "p"), "192.0.2.13")
	require.NoError(t, w.api.Create(t.Context(), abandoned))
	require.NoError(t, w.starting().serveEarly(t.Context()))
	require.Equal(t, "192.0.2.10", w.addressNow("new"))
	require.Len(t, w.locks(), 2)
	w.start()
	w.eventually(func() bool { l := w.locks(); return len(l) == 1 && l[0].Spec.Address == "192.0.2.10" }, "one lock is left")
	require.Equal(t, "192.0.2.10", w.addressNow("new"))
}

// TestHeadStartEnds: the controller and who serves early never look at one claim at the same time.
func TestHeadStartEnds(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(10, 16))
	w.claim("new", "p")
	r := w.starting()
	r.early.end()
	require.NoError(t, r.serveEarly(t.Context()))
	require.Empty(t, w.addressNow("new"))
	require.Empty(t, w.locks())
}

// TestNotSelectable: where somebody else's definition of the claims knows no field to select them by, the controllers serve all.
func TestNotSelectable(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(10, 16))
	w.claim("new", "p")
	r := w.starting()
	base, err := client.NewWithWatch(w.server.Config, client.Options{Scheme: w.server.Scheme})
	require.NoError(t, err)
	r.Reader = interceptor.NewClient(base, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, options ...client.ListOption) error {
			if _, claims := into.(*metal3.IPClaimList); claims {
				return apierrors.NewBadRequest("field label not supported: status.address.name")
			}
			return c.List(ctx, into, options...)
		}})
	require.NoError(t, r.serveEarly(t.Context()))
	require.Empty(t, w.addressNow("new"))
}
