package ipam

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Metrics of address management.
type Metrics struct {
	addresses *prometheus.GaugeVec
	reasons   *prometheus.GaugeVec
	waiting   *prometheus.HistogramVec
	refusals  *prometheus.CounterVec
	conflicts prometheus.Counter
	releases  prometheus.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	const namespace, subsystem = "lifecycle_agent", "ipam"
	m := &Metrics{
		addresses: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: "pool_addresses",
			Help: "Addresses of a pool: total, free, used, kept (for a while or for a host), outside (used, but no longer of the pool)."},
			[]string{"namespace", "pool", "state"}),
		reasons: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: "pool_status",
			Help: "1 for the reason of a pool's condition Ready, such as Available, Exhausted or Overlap."},
			[]string{"namespace", "pool", "reason"}),
		waiting: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "allocation_duration_seconds", Help: "From the creation of a claim to its address.",
			Buckets: []float64{0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800}}, []string{"kind"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "refusals_total", Help: "Reconciliations of a claim that ended without an address."}, []string{"kind", "reason"}),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "lock_conflicts_total", Help: "Locks that existed already when they were to be created."}),
		releases: prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "releases_total", Help: "Addresses that were released."}),
	}
	for _, c := range []prometheus.Collector{m.addresses, m.reasons, m.waiting, m.refusals, m.conflicts, m.releases} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register a metric of address management: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) countAllocation(k kind, took time.Duration) {
	m.waiting.WithLabelValues(k.keyOf(types.NamespacedName{}).kind).Observe(took.Seconds())
}

func (m *Metrics) countRefusal(k kind, reason string) {
	m.refusals.WithLabelValues(k.keyOf(types.NamespacedName{}).kind, reason).Inc()
}

// showPool shows the counts of a pool and the reason of its condition.
func (m *Metrics) showPool(name types.NamespacedName, status metal3.IPPoolStatus, stats ipam.Stats) {
	for state, n := range map[string]float64{
		"total": parseNumber(status.Total), "free": parseNumber(status.Free), "used": float64(status.Used),
		"kept": float64(status.Quarantined), "outside": float64(stats.Outside),
	} {
		m.addresses.WithLabelValues(name.Namespace, name.Name, state).Set(n)
	}
	m.reasons.DeletePartialMatch(prometheus.Labels{"namespace": name.Namespace, "pool": name.Name})
	if ready := apimeta.FindStatusCondition(status.Conditions, metal3.ConditionReady); ready != nil {
		m.reasons.WithLabelValues(name.Namespace, name.Name, ready.Reason).Set(1)
	}
}

func (m *Metrics) forgetPool(name types.NamespacedName) {
	of := prometheus.Labels{"namespace": name.Namespace, "pool": name.Name}
	m.addresses.DeletePartialMatch(of)
	m.reasons.DeletePartialMatch(of)
}

func parseNumber(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}
