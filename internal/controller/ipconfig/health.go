package ipconfig

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

// unhealthy says in one sentence why the cluster is not healthy; empty when it is, or
// when the annotation says that nobody wants to know.
func (r *Reconciler) unhealthy(ctx context.Context, ipc *lcav1.IPConfig, skip string) string {
	if _, skipped := ipc.Annotations[skip]; skipped {
		return ""
	}
	return r.examine(ctx)
}

func (r *Reconciler) examine(ctx context.Context) string {
	problem := cluster.Health(ctx, r.Reader).Error()
	r.examined = r.Now()
	if problem == "" {
		r.Metrics.health.seen(r.examined)
	}
	return problem
}

// restingExamination is how often health is looked at while nothing waits for it: the lists are long, and nothing but
// a metric comes of it.
const restingExamination = 5 * time.Minute

// takePulse keeps the metric of health alive at rest.
func (r *Reconciler) takePulse(ctx context.Context) {
	if r.Now().Sub(r.examined) >= restingExamination {
		r.examine(ctx)
	}
}

// healthAge tells when the cluster was last seen healthy, and how long ago that is. Before the first
// time it tells nothing.
type healthAge struct {
	now     func() time.Time
	at, age *prometheus.Desc
	nanos   atomic.Int64 // since 1970; 0 is never
}

func newHealthAge(now func() time.Time) *healthAge {
	name := func(s string) string { return prometheus.BuildFQName("lifecycle_agent", "ipconfig", s) }
	return &healthAge{
		now: now,
		at:  prometheus.NewDesc(name("last_healthy_timestamp_seconds"), "When the cluster was last seen healthy.", nil, nil),
		age: prometheus.NewDesc(name("last_healthy_age_seconds"), "How long ago the cluster was last seen healthy.", nil, nil),
	}
}

func (h *healthAge) seen(at time.Time) { h.nanos.Store(at.UnixNano()) }

// Describe implements prometheus.Collector.
func (h *healthAge) Describe(to chan<- *prometheus.Desc) { to <- h.at; to <- h.age }

// Collect implements prometheus.Collector.
func (h *healthAge) Collect(to chan<- prometheus.Metric) {
	nanos := h.nanos.Load()
	if nanos == 0 {
		return
	}
	at := time.Unix(0, nanos)
	to <- prometheus.MustNewConstMetric(h.at, prometheus.GaugeValue, float64(nanos)/1e9)
	to <- prometheus.MustNewConstMetric(h.age, prometheus.GaugeValue, max(h.now().Sub(at), 0).Seconds())
}
