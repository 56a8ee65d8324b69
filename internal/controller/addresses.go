package controller

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/hostnet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/ipam"
)

// addAddresses serves pools and claims where their kinds are installed.
func addAddresses(mgr ctrl.Manager, o Options) error {
	if installed, err := servesAddresses(mgr.GetRESTMapper(), o); err != nil || !installed {
		return err
	}
	contract, err := servedContract(mgr)
	if err != nil {
		return err
	}
	o.Log.Info("claims of the Cluster API", "group", capi.GroupVersion.Group, "version", cmp.Or(contract, "not served"))
	m, err := ipam.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the ipam metrics: %w", err)
	}
	r := ipam.New(ipam.Options{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log,
		Metrics: m, Now: time.Now, Contract: contract,
	})
	if err := r.SetupWithManager(mgr); err != nil {
		return err
	}
	if o.Webhooks {
		ipam.ServeOverlaps(mgr.GetWebhookServer(), mgr.GetAPIReader(), mgr.GetScheme())
	}
	return nil
}

// servedContract is the version in which the manager's scheme has the Cluster API's claims, where the API server serves that.
func servedContract(mgr ctrl.Manager) (string, error) {
	kind, err := apiutil.GVKForObject(&capi.IPAddressClaim{}, mgr.GetScheme())
	if err != nil {
		return "", fmt.Errorf("find the version of IPAddressClaim: %w", err)
	}
	served, err := cluster.Serves(mgr.GetRESTMapper(), kind)
	if err != nil || !served {
		return "", err
	}
	return kind.Version, nil
}

// ownDigits make the name of a machine's own Secret unique where the machine has no name yet.
const ownDigits = 10

// addHostNetworks serves the kinds of machines and hosts that the cluster has.
func addHostNetworks(mgr ctrl.Manager, o Options) error {
	if installed, err := servesAddresses(mgr.GetRESTMapper(), o); err != nil || !installed {
		return err
	}
	m, err := hostnet.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the hostnet metrics: %w", err)
	}
	r := &hostnet.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log,
		Metrics: m, Now: time.Now,
	}
	if o.Webhooks {
		hostnet.ServeOwners(mgr.GetWebhookServer(), mgr.GetAPIReader(), func() string { return utilrand.String(ownDigits) })
	}
	served := map[schema.GroupKind]bool{}
	for _, kind := range hostnet.Kinds() {
		installed, err := cluster.Serves(mgr.GetRESTMapper(), kind)
		if err != nil {
			return err
		}
		if !installed || served[kind.GroupKind()] {
			continue
		}
		served[kind.GroupKind()] = true
		r.Kinds = append(r.Kinds, kind)
		r.Hosts = r.Hosts || kind == hostnet.HostKind()
	}
	return r.SetupWithManager(mgr)
}

// servesAddresses reports whether the kinds that address management needs are installed, and logs that it is off if not.
func servesAddresses(mapper meta.RESTMapper, o Options) (bool, error) {
	for _, kind := range []schema.GroupVersionKind{
		metal3.GroupVersion.WithKind("IPPool"), lockv1.GroupVersion.WithKind("AddressLock"),
	} {
		installed, err := cluster.Serves(mapper, kind)
		if err != nil {
			return false, err
		}
		if !installed {
			o.Log.Info("address management is off: its definitions are not installed", "kind", kind.Kind)
			return false, nil
		}
	}
	return true, nil
}
