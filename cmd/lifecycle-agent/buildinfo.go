package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lifecycle-agent/lifecycle-agent/internal/version"
)

// registerBuildInfo publishes which build runs, with the value 1.
func registerBuildInfo(to prometheus.Registerer, build version.Info) error {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "lifecycle_agent", Name: "build_info", Help: "1, labelled with the version, commit and Go version of this program.",
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "goversion": build.Go},
	})
	gauge.Set(1)
	if err := to.Register(gauge); err != nil {
		return fmt.Errorf("register the metric of the build: %w", err)
	}
	return nil
}
