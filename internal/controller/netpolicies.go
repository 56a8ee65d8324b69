package controller

import (
	"errors"
	"fmt"
	"time"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netmachineconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netpolicy"
)

// addNetworkPolicies serves network policies once their kinds are served, the product's or kubernetes-nmstate's.
func addNetworkPolicies(mgr ctrl.Manager, o Options) error {
	m, err := netpolicy.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the metrics of network policies: %w", err)
	}
	if o.Webhooks {
		netpolicy.ServeReview(mgr.GetWebhookServer(), mgr.GetAPIReader(), time.Now)
	}
	return serveNetworkPolicies(mgr, o, m)
}

func serveNetworkPolicies(mgr ctrl.Manager, o Options, m *netpolicy.Metrics) error {
	kinds := []schema.GroupVersionKind{policyKind, enactmentKind, stateKind}
	return mgr.Add(&whenServed{name: "netpolicy", kinds: kinds, mapper: mgr.GetRESTMapper(), log: o.Log, start: func() error {
		r := netpolicy.New(netpolicy.Options{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log,
			Metrics: m, Now: time.Now,
		})
		if err := r.SetupWithManager(mgr); err != nil {
			return err
		}
		return errors.Join(
			startWhenServed(mgr, o, "netpolicy of pools", func() error { return r.ServePools(mgr) }, poolKind),
			startWhenServed(mgr, o, "netpolicy of claims", func() error { return r.ServeClaims(mgr) },
				metal3.GroupVersion.WithKind("IPClaim"), metal3.GroupVersion.WithKind("IPAddress")))
	}})
}

// poolKind is the machine config operator's.
var poolKind = mcv1.GroupVersion.WithKind("MachineConfigPool")

// addNetworkMachineConfigs writes the MachineConfigs of policies once the cluster has their kinds.
func addNetworkMachineConfigs(mgr ctrl.Manager, o Options) error {
	kinds := []schema.GroupVersionKind{policyKind, mcv1.GroupVersion.WithKind("MachineConfig"), poolKind}
	return mgr.Add(&whenServed{name: "netmachineconfig", kinds: kinds, mapper: mgr.GetRESTMapper(), log: o.Log, start: func() error {
		r := &netmachineconfig.Reconciler{Options: netmachineconfig.Options{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log, Now: time.Now,
		}}
		return r.SetupWithManager(mgr)
	}})
}
