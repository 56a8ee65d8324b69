package ipconfig

import (
	"github.com/prometheus/client_golang/prometheus"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// progressGauges show what an alert watches: since when a stage runs, and until when the node can go back.
type progressGauges struct{ started, expiry *prometheus.GaugeVec }

func newProgressGauges() *progressGauges {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "lifecycle_agent", Subsystem: "ipconfig", Name: name, Help: help}, labels)
	}
	return &progressGauges{
		started: gauge("stage_started_timestamp_seconds", "When the stage that runs was accepted; absent while none runs.", "stage"),
		expiry: gauge("rollback_expiration_timestamp_seconds",
			"When certificates of the previous stateroot start to expire; absent where there is no way back."),
	}
}

// show replaces what the gauges say by what a status says.
func (g *progressGauges) show(s lcav1.IPConfigStatus) {
	g.started.Reset()
	for _, h := range s.History {
		if h.StartTime != nil && h.CompletionTime == nil {
			g.started.WithLabelValues(string(h.Stage)).Set(float64(h.StartTime.Unix()))
		}
	}
	g.expiry.Reset()
	if until := s.RollbackAvailabilityExpiration; until != nil {
		g.expiry.WithLabelValues().Set(float64(until.Unix()))
	}
}
