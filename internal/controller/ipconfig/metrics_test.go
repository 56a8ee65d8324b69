package ipconfig

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

const prefix = "lifecycle_agent_ipconfig_"

// series lists the time series of one metric, with the value of counters.
func (w *world) series(name string) map[string]float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	require.NoError(w.t, err)
	found := map[string]float64{}
	for _, f := range families {
		if f.GetName() != prefix+name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			found[strings.Join(labels, " ")] = value
		}
	}
	return found
}

// TestMetricsOfAChangeThatGoesBack measures everything that has a metric, and lints the metrics.
func TestMetricsOfAChangeThatGoesBack(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	left := w.rest()
	w.journal(ipconfig.FlowPostPivot, flow.Entry{Kind: flow.KindBegin, Total: 2}, step(flow.KindIntent, ipconfig.StepApplyNetwork, 1),
		flow.Entry{Kind: flow.KindFailed, Step: ipconfig.StepApplyNetwork, Error: "gateway is silent", TookMS: 1500})
	w.journal(ipconfig.FlowRollback, flow.Entry{Kind: flow.KindNote, Message: ipconfig.CauseAutomatic + "gateway is silent"},
		flow.Entry{Kind: flow.KindBegin, Total: 5})
	w.comeBack(request, left)
	w.rest()
	require.Equal(t, map[string]float64{"pre-pivot done flip-default": 1, "post-pivot failed apply-network": 1}, w.series("step_duration_seconds"))
	require.Equal(t, map[string]float64{"failed Config": 1}, w.series("stage_duration_seconds"))
	require.Equal(t, map[string]float64{"post-pivot": 1}, w.series("rollbacks_total"))
	w.rest()
	require.Equal(t, map[string]float64{"post-pivot": 1}, w.series("rollbacks_total"), "counted once")
	w.requireLinted()

	w.restart(shared.Server(t))
	w.rest()
	require.Empty(t, w.series("rollbacks_total"), "a new operator does not count it again")
	require.Empty(t, w.series("step_duration_seconds"))
}

func (w *world) requireLinted() {
	w.t.Helper()
	problems, err := testutil.GatherAndLint(w.registry)
	require.NoError(w.t, err)
	require.Empty(w.t, problems)
}

func TestPreflightFailuresAreCountedByCheck(t *testing.T) {
	w := newWorld(t)
	w.rest()
	w.node.free = 0
	w.change(toNewAddress)
	found := w.series("preflight_failures_total")
	require.NotEmpty(t, found)
	for labels, n := range found {
		require.Equal(t, 1.0, n, labels)
	}
	w.requireLinted()
}

// TestSinceLastHealthy is what an alert rests on: it grows while the cluster is not healthy, at rest too.
func TestSinceLastHealthy(t *testing.T) {
	w := newWorld(t)
	require.Empty(t, w.series("last_healthy_age_seconds"), "not observed yet")
	w.rest()
	age := func() time.Duration {
		return time.Duration(w.series("last_healthy_age_seconds")[""] * float64(time.Second))
	}
	require.Less(t, age(), healthIntervalAtRest+2*atRest)
	w.operatorDegraded(true)
	for range 30 {
		w.reconcile()
	}
	sick := age()
	require.Greater(t, sick, 2*healthIntervalAtRest)
	w.operatorDegraded(false)
	for range 12 {
		w.reconcile()
	}
	require.Less(t, age(), sick)
	require.InDelta(t, float64(w.now.Unix()), w.series("last_healthy_timestamp_seconds")[""]+age().Seconds(), 1)
	w.requireLinted()
}
