package ipam

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// TestThePoolsReasonIsShownOnce: an alert on a reason ends when the pool has another one.
func TestThePoolsReasonIsShownOnce(t *testing.T) {
	m, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	name := types.NamespacedName{Namespace: "ns", Name: "p"}
	for _, reason := range []string{metal3.ReasonOverlap, metal3.ReasonAvailable} {
		m.showPool(name, metal3.IPPoolStatus{Total: "8", Free: "8",
			Conditions: []metav1.Condition{{Type: metal3.ConditionReady, Reason: reason}}}, ipam.Stats{})
	}
	require.Equal(t, 1, testutil.CollectAndCount(m.reasons))
	require.InDelta(t, 1, testutil.ToFloat64(m.reasons.WithLabelValues("ns", "p", metal3.ReasonAvailable)), 0)
	m.forgetPool(name)
	require.Zero(t, testutil.CollectAndCount(m.reasons))
	require.Zero(t, testutil.CollectAndCount(m.addresses))
}

// TestTheMetricHasTheReasonOfTheStatus: nothing may happen to a pool for days after its status was written.
func TestTheMetricHasTheReasonOfTheStatus(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 1))
	r := w.start()
	w.claim("first", "p")
	w.poolReason("p", metal3.ReasonExhausted)
	require.Equal(t, 1, testutil.CollectAndCount(r.Metrics.reasons))
	require.InDelta(t, 1, testutil.ToFloat64(r.Metrics.reasons.WithLabelValues(w.namespace, "p", metal3.ReasonExhausted)), 0)
}
