package controller

import (
	"fmt"
	"time"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netmachineconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netpolicy"
)

// addNetworkPolicies serves network policies where their kinds are installed, the product's or kubernetes-nmstate's.
func addNetworkPolicies(mgr ctrl.Manager, o Options) error {
	served := map[string]bool{}
	for _, kind := range []schema.GroupVersionKind{
		nmstatev1.GroupVersion.WithKind("NodeNetworkConfigurationPolicy"),
		mcv1.GroupVersion.WithKind("MachineConfigPool"), metal3.GroupVersion.WithKind("IPClaim"),
	} {
		is, err := cluster.Serves(mgr.GetRESTMapper(), kind)
		if err != nil {
			return err
		}
		served[kind.Kind] = is
	}
	if !served["NodeNetworkConfigurationPolicy"] {
		o.Log.Info("network policies are off: their definitions are not installed")
		return nil
	}
	m, err := netpolicy.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the metrics of network policies: %w", err)
	}
	r := netpolicy.New(netpolicy.Options{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log,
		Metrics: m, Now: time.Now, Pools: served["MachineConfigPool"], Claims: served["IPClaim"],
	})
	return r.SetupWithManager(mgr)
}

// addNetworkMachineConfigs serves policies for machine config pools where the cluster has such.
func addNetworkMachineConfigs(mgr ctrl.Manager, o Options) error {
	for _, kind := range []schema.GroupVersionKind{
		nmstatev1.GroupVersion.WithKind("NodeNetworkConfigurationPolicy"), mcv1.GroupVersion.WithKind("MachineConfig"),
	} {
		if is, err := cluster.Serves(mgr.GetRESTMapper(), kind); err != nil || !is {
			return err
		}
	}
	r := &netmachineconfig.Reconciler{Options: netmachineconfig.Options{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log, Now: time.Now,
	}}
	return r.SetupWithManager(mgr)
}
