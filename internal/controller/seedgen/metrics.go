package seedgen

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// Metrics of generations. Durations are in seconds, sizes in bytes.
type Metrics struct {
	generations *prometheus.CounterVec
	phases      *prometheus.HistogramVec
	refusals    *prometheus.CounterVec
	image       prometheus.Gauge
	detached    prometheus.Gauge
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	const namespace, subsystem = "lifecycle_agent", "seedgen"
	m := &Metrics{
		generations: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "generations_total", Help: "Generations of a seed image by result (Completed, Failed)."}, []string{"result"}),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "phase_duration_seconds", Help: "How long a phase of a generation took.",
			Buckets: []float64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600}}, []string{"phase"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "preflight_failures_total", Help: "Failed checks before a generation."}, []string{"check", "severity"}),
		image: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "image_size_bytes", Help: "Size of the image that was published last, compressed."}),
		detached: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "hub_detached", Help: "1 while the agent keeps the cluster detached from its hub."}),
	}
	for _, c := range []prometheus.Collector{m.generations, m.phases, m.refusals, m.image, m.detached} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register a metric of seedgen: %w", err)
		}
	}
	return m, nil
}

// measureChange observes what ended between two statuses.
func (m *Metrics) measureChange(before, after lcav1.SeedGeneratorStatus) {
	m.measureHistory(before, after)
	if hasEnded(after.Phase) && (before.Phase != after.Phase || before.OperationID != after.OperationID) {
		m.generations.WithLabelValues(string(after.Phase)).Inc()
	}
	if before.Preflight == nil || before.OperationID != after.OperationID {
		for _, c := range after.Preflight {
			if c.Result == lcav1.PreflightFailed {
				m.refusals.WithLabelValues(c.Name, string(c.Severity)).Inc()
			}
		}
	}
	if after.Image != nil {
		m.image.Set(float64(after.Image.SizeBytes))
	}
	m.detached.Set(0)
	for _, c := range after.Conditions {
		if c.Type == lcav1.ConditionHubDetached && c.Status == "True" {
			m.detached.Set(1)
		}
	}
}

// measureHistory observes the phases that ended.
func (m *Metrics) measureHistory(before, after lcav1.SeedGeneratorStatus) {
	known := map[string]bool{}
	if before.OperationID == after.OperationID {
		for _, p := range before.History {
			known[p.Phase] = p.CompletionTime != nil
		}
	}
	for _, p := range after.History {
		if p.CompletionTime != nil && p.StartTime != nil && !known[p.Phase] {
			m.phases.WithLabelValues(p.Phase).Observe(p.CompletionTime.Sub(p.StartTime.Time).Seconds())
		}
	}
}
