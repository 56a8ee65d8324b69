// Package controller lists everything that the operator runs. cmd/lifecycle-agent calls it; each
// controller has a folder of its own below and none knows another.
package controller

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/ipconfig"
)

// Options are what the controllers need besides the manager.
type Options struct {
	// Node is the node the operator runs on.
	Node ipconfig.Node
	Log  *slog.Logger
	// RecertImage is the image of the recert container engine that was shipped with the operator.
	RecertImage string
	// CLI returns the lca-cli program to install on the node; nil leaves the node's own.
	CLI func() ([]byte, error)
}

// Setup adds every controller to the manager.
func Setup(mgr ctrl.Manager, o Options) error {
	for _, add := range []func(ctrl.Manager, Options) error{
		addIPConfig,
	} {
		if err := add(mgr, o); err != nil {
			return err
		}
	}
	return nil
}

func addIPConfig(mgr ctrl.Manager, o Options) error {
	m, err := ipconfig.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the ipconfig metrics: %w", err)
	}
	r := &ipconfig.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log,
		Node: o.Node, Metrics: m,
		Now: time.Now, Random: func() uint16 { return uint16(rand.Uint32()) },
		RecertImage: o.RecertImage, CLI: o.CLI,
	}
	return r.SetupWithManager(mgr)
}
