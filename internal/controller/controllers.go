// Package controller lists everything that the operator runs. cmd/lifecycle-agent calls it; each
// controller has a folder of its own below and none knows another.
package controller

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	capi "github.com/lifecycle-agent/lifecycle-agent/api/capi/v1beta2"
	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/hostnet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/ipam"
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
	// Webhooks has the API server's questions answered, with the certificate that the manager was given.
	Webhooks bool
}

// Setup adds every controller to the manager.
func Setup(mgr ctrl.Manager, o Options) error {
	for _, add := range []func(ctrl.Manager, Options) error{
		addIPConfig, addIPAM,
	} {
		if err := add(mgr, o); err != nil {
			return err
		}
	}
	return nil
}

func addIPConfig(mgr ctrl.Manager, o Options) error {
	m, err := ipconfig.NewMetrics(metrics.Registry, time.Now)
	if err != nil {
		return fmt.Errorf("register the ipconfig metrics: %w", err)
	}
	r := &ipconfig.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Log: o.Log,
		Node: o.Node, Metrics: m,
		Now: time.Now, Random: func() uint16 { return uint16(rand.Uint32()) },
		RecertImage: o.RecertImage, CLI: o.CLI,
	}
	return r.SetupWithManager(mgr)
}

// addIPAM gives addresses out where the kinds for it are installed.
func addIPAM(mgr ctrl.Manager, o Options) error {
	pools, err := cluster.Serves(mgr.GetRESTMapper(), metal3.GroupVersion.WithKind("IPPool"))
	if err != nil {
		return err
	}
	locks, err := cluster.Serves(mgr.GetRESTMapper(), lockv1.GroupVersion.WithKind("AddressLock"))
	if err != nil {
		return err
	}
	if !pools || !locks {
		o.Log.Info("addresses of secondary networks are not managed: the kinds IPPool and AddressLock are not both installed")
		return nil
	}
	contract, err := cluster.Serves(mgr.GetRESTMapper(), capi.GroupVersion.WithKind("IPAddressClaim"))
	if err != nil {
		return err
	}
	m, err := ipam.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the ipam metrics: %w", err)
	}
	r := ipam.New(ipam.Options{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log,
		Metrics: m, Now: time.Now, Contract: contract, Name: fmt.Sprintf("%016x", rand.Uint64()),
	})
	if err := r.SetupWithManager(mgr); err != nil {
		return err
	}
	if o.Webhooks {
		ipam.ServeOverlaps(mgr.GetWebhookServer(), mgr.GetAPIReader(), mgr.GetScheme())
	}
	return addHostNetworks(mgr, o)
}

// addHostNetworks serves the kinds of machines and hosts that the cluster has.
func addHostNetworks(mgr ctrl.Manager, o Options) error {
	r := &hostnet.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log,
	}
	had := map[schema.GroupKind]bool{}
	for _, kind := range hostnet.Kinds() {
		there, err := cluster.Serves(mgr.GetRESTMapper(), kind)
		if err != nil {
			return err
		}
		if !there || had[kind.GroupKind()] {
			continue
		}
		had[kind.GroupKind()] = true
		r.Kinds = append(r.Kinds, kind)
		r.Hosts = r.Hosts || kind == hostnet.HostKind()
	}
	return r.SetupWithManager(mgr)
}
