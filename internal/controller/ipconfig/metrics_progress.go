package ipconfig

import (
	"github.com/prometheus/client_golang/prometheus"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// progressGauges show what an alert watches: since when a stage runs, until when the node can go back, and when it went back. They are
// read from status, so that a reboot does not lose them, as it loses counters.
type progressGauges struct{ started, expiry, rolledBack *prometheus.GaugeVec }

func newProgressGauges() *progressGauges {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "lifecycle_agent", Subsystem: "ipconfig", Name: name, Help: help}, labels)
	}
	return &progressGauges{
		started: gauge("stage_started_timestamp_seconds", "When the stage that runs was accepted; absent while none runs.", "stage"),
		expiry: gauge("rollback_expiration_timestamp_seconds",
			"When certificates of the previous stateroot start to expire; absent where there is no way back."),
		rolledBack: gauge("last_rollback_timestamp_seconds",
			"When the node went back, by cause (as in rollbacks_total), as far as status shows it; absent once it is Idle again.", "cause"),
	}
}

// show replaces what the gauges say by what a status says.
func (g *progressGauges) show(s lcav1.IPConfigStatus, o observation) {
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
	g.rolledBack.Reset()
	for _, c := range s.Conditions {
		if cause := rollbackCause(c, o); cause != "" {
			g.rolledBack.WithLabelValues(cause).Set(float64(c.LastTransitionTime.Unix()))
		}
	}
}
