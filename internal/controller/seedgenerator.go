package controller

import (
	"fmt"
	"math/rand/v2"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/seedgen"
)

func addSeedGenerator(mgr ctrl.Manager, o Options) error {
	m, err := seedgen.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the seedgen metrics: %w", err)
	}
	r := &seedgen.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Log: o.Log, Metrics: m,
		ReadSecret: seedgen.AsAccount(mgr.GetConfig(), mgr.GetClient()),
		Node: seedgen.Node{Files: o.Host.Files, Disk: o.Host.Disk, Deployments: o.Host.Deployments, Units: o.Host.Units,
			Transients: o.Host.Transients, Lock: o.Host.Lock, Boots: o.Network.Boots},
		Now: time.Now, Random: func() uint16 { return uint16(rand.Uint32()) }, InstallCLI: o.InstallCLI,
		Hub: seedgen.ConnectHub,
	}
	return mgr.Add(&servingNode{
		name: o.NodeName, kind: "SeedGenerator", reader: mgr.GetAPIReader(), log: o.Log,
		start: func() error { return r.SetupWithManager(mgr) },
	})
}
