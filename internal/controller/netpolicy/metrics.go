package netpolicy

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// Metrics of network policies.
type Metrics struct {
	policies *prometheus.GaugeVec
	nodes    *prometheus.GaugeVec
	grants   prometheus.Counter
	duration prometheus.Histogram
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	const namespace, subsystem = "lifecycle_agent", "netpolicy"
	m := &Metrics{
		policies: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: "status",
			Help: "1 for the status of a policy: Progressing, Available, Failed or Ignored."}, []string{"policy", "status"}),
		nodes: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: "nodes",
			Help: "Nodes of a policy: selected, configured, failed, aborted, granted (and not finished), not_ready."},
			[]string{"policy", "state"}),
		grants: prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: "grants_total",
			Help: "Enactments that were allowed to start."}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "rollout_duration_seconds", Help: "From the first grant of a generation to its success on all nodes.",
			Buckets: []float64{1, 5, 15, 60, 300, 900, 3600, 14400, 86400}}),
	}
	for _, c := range []prometheus.Collector{m.policies, m.nodes, m.grants, m.duration} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register a metric of network policies: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) showPolicy(policy string, outcome condition.PolicyState, ro *nmstatev1.RolloutStatus) {
	for _, s := range []condition.PolicyState{
		condition.PolicyProgressing, condition.PolicyAvailable, condition.PolicyFailed, condition.PolicyIgnored,
	} {
		value := 0.0
		if s == outcome {
			value = 1
		}
		m.policies.WithLabelValues(policy, string(s)).Set(value)
	}
	for state, n := range map[string]int{"selected": ro.Nodes, "configured": ro.Configured, "failed": ro.Failed,
		"aborted": ro.Aborted, "granted": ro.Granted, "not_ready": ro.NotReady} {
		m.nodes.WithLabelValues(policy, state).Set(float64(n))
	}
}

func (m *Metrics) forgetPolicy(policy string) {
	m.policies.DeletePartialMatch(prometheus.Labels{"policy": policy})
	m.nodes.DeletePartialMatch(prometheus.Labels{"policy": policy})
}
