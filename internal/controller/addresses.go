package controller

import (
	"cmp"
	"context"
	"fmt"
	"time"

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

// onEveryReplica starts a controller once the API serves its kinds, on replicas that do not lead too: their caches are warm then.
type onEveryReplica struct{ *whenServed }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (onEveryReplica) NeedLeaderElection() bool { return false }

// startWhenServed starts a controller now if the API serves its kinds, and otherwise when they are installed.
func startWhenServed(mgr ctrl.Manager, o Options, name string, start func() error, kinds ...schema.GroupVersionKind) error {
	w := &whenServed{name: name, kinds: kinds, mapper: mgr.GetRESTMapper(), log: o.Log, start: start}
	missing, err := w.missing(context.Background())
	switch {
	case err != nil:
		return err
	case missing == "":
		return start()
	}
	return mgr.Add(onEveryReplica{w})
}

// addressKinds are the kinds that address management needs.
func addressKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{metal3.GroupVersion.WithKind("IPPool"), metal3.GroupVersion.WithKind("IPClaim"),
		metal3.GroupVersion.WithKind("IPAddress"), lockv1.GroupVersion.WithKind("AddressLock")}
}

// addAddresses serves pools and claims as soon as their kinds are installed.
func addAddresses(mgr ctrl.Manager, o Options) error {
	if o.Webhooks {
		ipam.ServeOverlaps(mgr.GetWebhookServer(), mgr.GetAPIReader(), mgr.GetScheme())
	}
	m, err := ipam.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the ipam metrics: %w", err)
	}
	return startWhenServed(mgr, o, "ipam", func() error { return serveAddresses(mgr, o, m) }, addressKinds()...)
}

func serveAddresses(mgr ctrl.Manager, o Options, m *ipam.Metrics) error {
	contract, err := servedContract(mgr)
	if err != nil {
		return err
	}
	o.Log.Info("claims of the Cluster API", "group", capi.GroupVersion.Group, "version", cmp.Or(contract, "not served"))
	r := ipam.New(ipam.Options{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log,
		Metrics: m, Now: time.Now, Contract: contract,
	})
	if err := r.SetupWithManager(mgr); err != nil || contract != "" {
		return err
	}
	claim, err := apiutil.GVKForObject(&capi.IPAddressClaim{}, mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("find the version of IPAddressClaim: %w", err)
	}
	later := func() error { return r.AddContract(mgr, claim.Version) }
	return startWhenServed(mgr, o, "ipam of the Cluster API", later, claim, claim.GroupVersion().WithKind("IPAddress"))
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

// addHostNetworks serves the kinds of machines and hosts as soon as they are installed.
func addHostNetworks(mgr ctrl.Manager, o Options) error {
	if o.Webhooks {
		hostnet.ServeOwners(mgr.GetWebhookServer(), mgr.GetAPIReader(), func() string { return utilrand.String(ownDigits) })
	}
	m, err := hostnet.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the hostnet metrics: %w", err)
	}
	r := &hostnet.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("lifecycle-agent"), Log: o.Log,
		Metrics: m, Now: time.Now,
	}
	serve := func() error {
		for _, kind := range hostnet.Kinds() {
			add := func() error { return r.Add(mgr, kind) }
			if err := startWhenServed(mgr, o, "hostnet of "+kind.GroupKind().String(), add, kind); err != nil {
				return err
			}
		}
		return nil
	}
	return startWhenServed(mgr, o, "hostnet", serve, addressKinds()...)
}
