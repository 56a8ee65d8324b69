package ipconfig

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// Metrics of the flow. Durations are in seconds.
type Metrics struct {
	stages    *prometheus.HistogramVec
	phases    *prometheus.HistogramVec
	steps     *prometheus.HistogramVec
	rollbacks *prometheus.CounterVec
	refusals  *prometheus.CounterVec

	health   *healthAge
	progress *progressGauges

	timeline cursor
}

// NewMetrics makes the metrics and registers them. now is the clock for ages.
func NewMetrics(registry prometheus.Registerer, now func() time.Time) (*Metrics, error) {
	buckets := []float64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "lifecycle_agent", Subsystem: "ipconfig", Name: name, Help: help, Buckets: buckets}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "lifecycle_agent", Subsystem: "ipconfig", Name: name, Help: help}, labels)
	}
	m := &Metrics{
		stages:    histogram("stage_duration_seconds", "How long a stage took from acceptance to its end.", "stage", "result"),
		phases:    histogram("phase_duration_seconds", "How long a phase of a stage took.", "phase"),
		steps:     histogram("step_duration_seconds", "How long a step of lca-cli took.", "flow", "step", "result"),
		rollbacks: counter("rollbacks_total", "Rollbacks by cause (requested, post-pivot, watchdog, unproved, uncontrolled).", "cause"),
		refusals:  counter("preflight_failures_total", "Failed checks before a change.", "check", "severity"),
		health:    newHealthAge(now),
		progress:  newProgressGauges(),
	}
	for _, c := range []prometheus.Collector{
		m.stages, m.phases, m.steps, m.rollbacks, m.refusals, m.health, m.progress.started, m.progress.expiry, m.progress.rolledBack,
	} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register a metric of ipconfig: %w", err)
		}
	}
	return m, nil
}

// measureChange observes what ended between two statuses.
func (r *Reconciler) measureChange(before, after *lcav1.IPConfig, o observation, out outcome) {
	m := r.Metrics
	m.measureHistory(before.Status.History, after.Status.History, out.state)
	for _, s := range m.timeline.newlyEnded(before.Status, o.progress) {
		result := "done"
		switch s.Kind {
		case flow.KindFailed, flow.KindUndoFailed:
			result = "failed"
		case flow.KindUndone:
			result = "undone"
		default: // done
		}
		m.steps.WithLabelValues(s.Flow, s.Step, result).Observe(s.Took.Seconds())
	}
	for _, c := range status.Changed(before.Status.Conditions, after.Status.Conditions) {
		if cause := rollbackCause(c, o); cause != "" {
			m.rollbacks.WithLabelValues(cause).Inc()
		}
	}
	if before.Status.Preflight == nil {
		for _, c := range out.preflight {
			if c.Result == lcav1.PreflightFailed {
				m.refusals.WithLabelValues(c.Name, string(c.Severity)).Inc()
			}
		}
	}
}

// measureHistory observes the stages and phases that have a completion time now and had none.
func (m *Metrics) measureHistory(before, after []lcav1.StageHistory, state ipconfig.State) {
	had := map[string]bool{}
	for _, h := range before {
		had[string(h.Stage)] = h.CompletionTime != nil
		for _, p := range h.Phases {
			had[p.Phase] = p.CompletionTime != nil
		}
	}
	for _, h := range after {
		if h.CompletionTime != nil && !had[string(h.Stage)] {
			m.stages.WithLabelValues(string(h.Stage), resultLabel(state)).Observe(secondsBetween(h.StartTime, h.CompletionTime))
		}
		for _, p := range h.Phases {
			if p.CompletionTime != nil && !had[p.Phase] {
				m.phases.WithLabelValues(p.Phase).Observe(secondsBetween(p.StartTime, p.CompletionTime))
			}
		}
	}
}

func secondsBetween(from, to *metav1.Time) float64 {
	if from == nil || to == nil {
		return 0
	}
	return to.Sub(from.Time).Seconds()
}

func resultLabel(state ipconfig.State) string {
	switch state.WithRollback() {
	case ipconfig.StateConfigFailed, ipconfig.StateFinishFailed, ipconfig.StateRollbackFailed:
		return "failed"
	case ipconfig.StateBecomingIdle:
		return "aborted"
	default: // it ended well
	}
	return "completed"
}

// rollbackCause is the kind of rollback that a new condition reports; empty for none.
func rollbackCause(c metav1.Condition, o observation) string {
	switch {
	case c.Type == lcav1.ConditionRollbackCompleted && c.Status == metav1.ConditionTrue:
		return "requested"
	case c.Type != lcav1.ConditionConfigCompleted || c.Reason != lcav1.ReasonFailed || !o.hasReturned():
		return ""
	case o.unproved != "":
		return "unproved"
	case strings.HasPrefix(o.progress.Cause, ipconfig.CauseWatchdog):
		return "watchdog"
	case strings.HasPrefix(o.progress.Cause, ipconfig.CauseAutomatic):
		return "post-pivot"
	}
	return "uncontrolled"
}

// healthIntervalAtRest is how often health is observed while nothing waits for it: the lists are long, and only a metric
// depends on it.
const healthIntervalAtRest = 5 * time.Minute

// observeHealthAtRest keeps the metric of health up to date at rest.
func (r *Reconciler) observeHealthAtRest(ctx context.Context) {
	if r.Now().Sub(r.examined) >= healthIntervalAtRest {
		r.observeHealth(ctx)
	}
}

func (r *Reconciler) observeHealth(ctx context.Context) cluster.Report {
	health := cluster.Health(ctx, runtimeclient.NewReader(r.Reader))
	r.examined = r.Now()
	r.Metrics.health.recordHealth(r.examined, health.Healthy())
	return health
}

// healthAge reports whether the cluster is healthy, when it was last observed so, and how long ago that is. It reports nothing before the
// first observation, and no time before the first good one.
type healthAge struct {
	now              func() time.Time
	healthy, at, age *prometheus.Desc
	nanos            atomic.Int64 // since 1970; 0 is never
	latest           atomic.Pointer[bool]
}

func newHealthAge(now func() time.Time) *healthAge {
	name := func(s string) string { return prometheus.BuildFQName("lifecycle_agent", "ipconfig", s) }
	return &healthAge{
		now:     now,
		healthy: prometheus.NewDesc(name("cluster_healthy"), "1 where the cluster was healthy when it was observed last.", nil, nil),
		at:      prometheus.NewDesc(name("last_healthy_timestamp_seconds"), "When the cluster was last observed healthy.", nil, nil),
		age:     prometheus.NewDesc(name("last_healthy_age_seconds"), "How long ago the cluster was last observed healthy.", nil, nil),
	}
}

func (h *healthAge) recordHealth(at time.Time, healthy bool) {
	h.latest.Store(&healthy)
	if healthy {
		h.nanos.Store(at.UnixNano())
	}
}

// Describe implements prometheus.Collector.
func (h *healthAge) Describe(to chan<- *prometheus.Desc) { to <- h.healthy; to <- h.at; to <- h.age }

// Collect implements prometheus.Collector.
func (h *healthAge) Collect(to chan<- prometheus.Metric) {
	if latest := h.latest.Load(); latest != nil {
		value := 0.0
		if *latest {
			value = 1
		}
		to <- prometheus.MustNewConstMetric(h.healthy, prometheus.GaugeValue, value)
	}
	nanos := h.nanos.Load()
	if nanos == 0 {
		return
	}
	at := time.Unix(0, nanos)
	to <- prometheus.MustNewConstMetric(h.at, prometheus.GaugeValue, float64(nanos)/1e9)
	to <- prometheus.MustNewConstMetric(h.age, prometheus.GaugeValue, max(h.now().Sub(at), 0).Seconds())
}

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

// showProgress replaces what the gauges say by what a status says.
func (g *progressGauges) showProgress(s lcav1.IPConfigStatus, o observation) {
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
