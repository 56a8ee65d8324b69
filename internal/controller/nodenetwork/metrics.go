package nodenetwork

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of the publisher.
type Metrics struct {
	took       prometheus.Histogram
	writes     prometheus.Counter
	interfaces prometheus.Gauge
	size       prometheus.Gauge
	trimmed    prometheus.Gauge
	last       prometheus.Gauge
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "lifecycle_agent", Subsystem: "network", Name: name, Help: help})
	}
	m := &Metrics{
		took: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "lifecycle_agent", Subsystem: "network",
			Name: "observation_duration_seconds", Help: "How long an observation of the network and its publication took.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}}),
		writes: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "lifecycle_agent", Subsystem: "network",
			Name: "state_writes_total", Help: "Writes of the NodeNetworkState."}),
		interfaces: gauge("interfaces", "Interfaces of the node."),
		size:       gauge("state_bytes", "Size of the published state."),
		trimmed:    gauge("state_trimmed", "1 where details were left out of the published state for its size."),
		last:       gauge("last_observation_timestamp_seconds", "When the network was observed last."),
	}
	for _, c := range []prometheus.Collector{m.took, m.writes, m.interfaces, m.size, m.trimmed, m.last} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register a metric of nodenetwork: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) countObservation(took time.Duration, interfaces, size int, trimmed bool) {
	if m == nil {
		return
	}
	m.took.Observe(took.Seconds())
	m.interfaces.Set(float64(interfaces))
	m.size.Set(float64(size))
	m.last.SetToCurrentTime()
	m.trimmed.Set(0)
	if trimmed {
		m.trimmed.Set(1)
	}
}

func (m *Metrics) countWrite() {
	if m != nil {
		m.writes.Inc()
	}
}
