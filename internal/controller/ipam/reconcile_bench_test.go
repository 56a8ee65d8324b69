//go:build bench

package ipam

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// TestBenchReconcile is part of "make bench-ipam": what one more claim costs a replica that knows of many, one reconciliation for each,
// over a client in memory that copies what it is given. There is no server, so nothing hides what grows.
func TestBenchReconcile(t *testing.T) {
	const claims = 500
	fmt.Printf("| claims held | one more claim | x of 1000 |\n|---|---|---|\n")
	var first time.Duration
	for _, held := range []int{1000, 10000, 100000} {
		w := fakeWorld(t, held)
		r := w.replica(t)
		took := make([]time.Duration, claims)
		for i := range took {
			c := w.claim(fmt.Sprintf("new%d", i), "p", func(c *metal3.IPClaim) { c.UID = types.UID(c.Name) }) // no server gives it one
			begun := time.Now()
			_, err := r.reconcileClaim(t.Context(), native{}, client.ObjectKeyFromObject(c))
			took[i] = time.Since(begun)
			require.NoError(t, err)
		}
		require.NotEmpty(t, w.addressNow(fmt.Sprintf("new%d", claims-1)))
		slices.Sort(took)
		median := took[claims/2]
		if first == 0 {
			first = median
		}
		fmt.Printf("| %d | %s | %.2f |\n", held, median.Round(time.Microsecond), float64(median)/float64(first))
	}
}

// fakeWorld is a world in memory in which so many claims have their addresses.
func fakeWorld(t *testing.T, held int) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metal3.AddToScheme, capi.AddToScheme, lockv1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	w := &world{t: t, namespace: "bench", network: "bench"}
	w.api = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&metal3.IPClaim{}, &metal3.IPPool{}).Build()
	pool := w.pool("p", huge)
	each(held, func(i int) {
		c := &metal3.IPClaim{ObjectMeta: w.meta(fmt.Sprintf("c%d", i)), Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: "p"}}}
		c.UID = types.UID(c.Name)
		lock, address := given(w, pool, c, fmt.Sprintf("10.%d.%d.%d", (i+1)>>16, (i+1)>>8&255, (i+1)&255))
		for _, o := range []client.Object{c, lock, address} {
			require.NoError(t, w.api.Create(context.Background(), o))
		}
		c.Status.Address = &metal3.ObjectReference{Name: address.Name}
		require.NoError(t, w.api.Status().Update(context.Background(), c))
	})
	return w
}

// replica has read all there is, and follows nothing.
func (w *world) replica(t *testing.T) *Reconciler {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	r := New(Options{Client: w.api, Reader: w.api, Events: &replica{}, Log: slog.New(slog.DiscardHandler), Metrics: metrics, Now: time.Now})
	_, err = r.reconcilePool(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "p"})
	require.NoError(t, err)
	return r
}
