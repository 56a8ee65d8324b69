package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/caches"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netenactment"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/nodenetwork"
)

var (
	policyKind    = nmstatev1.GroupVersion.WithKind("NodeNetworkConfigurationPolicy")
	enactmentKind = nmstatev1beta1.GroupVersion.WithKind("NodeNetworkConfigurationEnactment")
	stateKind     = nmstatev1beta1.GroupVersion.WithKind("NodeNetworkState")
)

// addNodeNetwork publishes the node's network once its kind is served.
func addNodeNetwork(mgr ctrl.Manager, o Options) error {
	m, err := nodenetwork.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the metrics of node networks: %w", err)
	}
	kinds := []schema.GroupVersionKind{stateKind}
	return mgr.Add(&whenServed{name: "nodenetwork", kinds: kinds, mapper: mgr.GetRESTMapper(), log: o.Log, start: func() error {
		own, err := caches.Own(mgr, o.NodeName)
		if err != nil {
			return err
		}
		p := &nodenetwork.Publisher{
			Client: mgr.GetClient(), Cache: own, Reader: mgr.GetAPIReader(), Log: o.Log, NodeName: o.NodeName,
			Network: o.Network.Network, Version: o.Version, Now: time.Now, Metrics: m,
		}
		return p.SetupWithManager(mgr, own)
	}})
}

// addNetEnactments enacts network policies on the node once their kinds are served.
func addNetEnactments(mgr ctrl.Manager, o Options) error {
	m, err := netenactment.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the metrics of enactments: %w", err)
	}
	kinds := []schema.GroupVersionKind{policyKind, enactmentKind}
	return mgr.Add(&whenServed{name: "netenactment", kinds: kinds, mapper: mgr.GetRESTMapper(), log: o.Log, start: func() error {
		own, err := caches.Own(mgr, o.NodeName)
		if err != nil {
			return err
		}
		r := &netenactment.Reconciler{
			Client: mgr.GetClient(), Cache: own, Reader: mgr.GetAPIReader(), Log: o.Log, NodeName: o.NodeName,
			Node: o.Network, Metrics: m, Version: o.Version, Now: time.Now, Random: func() uint16 { return uint16(rand.Uint32()) },
			InstallCLI: o.InstallCLI, OperatorLease: types.NamespacedName{Namespace: Namespace, Name: OperatorLease},
		}
		return r.SetupWithManager(mgr, own)
	}})
}

// servedRetry is how soon the agent looks again for kinds that are not installed.
const servedRetry = 10 * time.Second

// whenServed starts a controller once the API serves its kinds: they may be installed after the agent, and the agent has other
// work meanwhile.
type whenServed struct {
	name   string
	kinds  []schema.GroupVersionKind
	mapper meta.RESTMapper
	log    *slog.Logger
	start  func() error
	// permitted says whether the agent has the rights that the controller needs, where these are installed apart; nil for always.
	// A controller without them would end the program, when its cache is not filled in time.
	permitted func(context.Context) (bool, error)
}

// Start implements manager.Runnable.
func (w *whenServed) Start(ctx context.Context) error {
	for reported := ""; ; {
		missing, err := w.missing(ctx)
		if err == nil && missing == "" {
			if err := w.start(); err != nil {
				return fmt.Errorf("start controller %s: %w", w.name, err)
			}
			return nil
		}
		if now := fmt.Sprint(missing, err); now != reported {
			reported = now
			w.log.Info("controller waits for its kinds and rights", "controller", w.name, "missing", missing, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(servedRetry):
		}
	}
}

func (w *whenServed) missing(ctx context.Context) (string, error) {
	var errs []error
	for _, kind := range w.kinds {
		served, err := cluster.Serves(w.mapper, kind)
		if err != nil {
			errs = append(errs, err)
		} else if !served {
			return kind.Kind, nil
		}
	}
	if len(errs) > 0 || w.permitted == nil {
		return "", errors.Join(errs...)
	}
	permitted, err := w.permitted(ctx)
	if err == nil && !permitted {
		return "rights", nil
	}
	return "", err
}
