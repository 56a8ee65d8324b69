package controller

import (
	"fmt"
	"time"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
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
	kinds := []schema.GroupVersionKind{policyKind, enactmentKind, stateKind}
	return mgr.Add(&whenServed{name: "netpolicy", kinds: kinds, mapper: mgr.GetRESTMapper(), log: o.Log, start: func() error {
		pools, err := cluster.Serves(mgr.GetRESTMapper(), mcv1.GroupVersion.WithKind("MachineConfigPool"))
		if err != nil {
			return err
		}
		claims, err := cluster.Serves(mgr.GetRESTMapper(), metal3.GroupVersion.WithKind("IPClaim"))
		if err != nil {
			return err
		}
		r := netpolicy.New(netpolicy.Options{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log,
			Metrics: m, Now: time.Now, Pools: pools, Claims: claims,
		})
		return r.SetupWithManager(mgr)
	}})
}

// addNetworkMachineConfigs writes the MachineConfigs of policies once the cluster has both kinds.
func addNetworkMachineConfigs(mgr ctrl.Manager, o Options) error {
	kinds := []schema.GroupVersionKind{policyKind, mcv1.GroupVersion.WithKind("MachineConfig")}
	return mgr.Add(&whenServed{name: "netmachineconfig", kinds: kinds, mapper: mgr.GetRESTMapper(), log: o.Log, start: func() error {
		r := &netmachineconfig.Reconciler{Options: netmachineconfig.Options{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log, Now: time.Now,
		}}
		return r.SetupWithManager(mgr)
	}})
}
