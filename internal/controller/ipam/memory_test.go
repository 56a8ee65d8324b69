package ipam

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// Each claim has an address of its own until the pool is empty, and the address of a claim that goes is given out again.
func TestAddressesAreGivenAndTakenBack(t *testing.T) {
	w := &world{t: t, api: shared.Memory(t).Client, namespace: "default", network: "n"}
	metrics, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	r := New(Options{Client: w.api, Reader: w.api, Events: events.NewFakeRecorder(100), Log: slog.New(slog.DiscardHandler),
		Metrics: metrics, Now: time.Now})
	pool := w.pool("p", between(10, 11))
	_, err = r.reconcilePool(t.Context(), client.ObjectKeyFromObject(pool))
	require.NoError(t, err)
	serve := func(c *metal3.IPClaim) string {
		t.Helper()
		for range 3 {
			_, err := r.reconcileClaim(t.Context(), native{}, client.ObjectKeyFromObject(c))
			require.NoError(t, err)
		}
		return w.addressNow(c.Name)
	}
	first, second, third := w.claim("a", "p"), w.claim("b", "p"), w.claim("c", "p")
	require.Equal(t, "192.0.2.10", serve(first))
	require.Equal(t, "192.0.2.11", serve(second))
	require.Empty(t, serve(third), "the pool is empty")
	require.NoError(t, w.api.Delete(t.Context(), first))
	serve(first)
	require.Equal(t, "192.0.2.10", serve(third))
	require.Equal(t, "192.0.2.11", serve(second), "what is held is kept")
}
