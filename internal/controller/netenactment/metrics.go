package netenactment

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// Metrics of enactments. Durations are in seconds.
type Metrics struct {
	took      *prometheus.HistogramVec
	rollbacks *prometheus.CounterVec
	drift     *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	const namespace, subsystem = "lifecycle_agent", "network"
	m := &Metrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "enactment_duration_seconds", Help: "How long an enactment of a policy took, by result.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}}, []string{"result"}),
		rollbacks: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "rollbacks_total", Help: "Enactments that were rolled back, by the phase that failed."}, []string{"phase"}),
		drift: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "drift", Help: "Keys of a policy's document that differ from the node's network."}, []string{"policy"}),
	}
	for _, c := range []prometheus.Collector{m.took, m.rollbacks, m.drift} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register a metric of netenactment: %w", err)
		}
	}
	return m, nil
}

// countEnactment counts an enactment when the state turns at its end.
func (m *Metrics) countEnactment(s condition.State, turned bool, o *netpolicy.Outcome) {
	if m == nil || !turned || o == nil || s != condition.Available && s != condition.Failed && s != condition.Retrying {
		return
	}
	m.took.WithLabelValues(o.Result).Observe(o.Ended.Sub(o.Started).Seconds())
	if o.Result == netpolicy.ResultFailed && o.Evidence != nil && o.Evidence.RolledBack {
		m.rollbacks.WithLabelValues(o.Evidence.Phase).Inc()
	}
}
