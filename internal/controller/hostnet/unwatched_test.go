package hostnet

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// The kind of hosts is installed after the operator started, which does not watch it: a claim is not released while a host serves its
// owner, before hosts are watched and afterwards, and it is once the host is deprovisioned, in either case.
func TestClaimsAreKeptForHostsThatAreNotWatchedYet(t *testing.T) {
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprintf("watched in the end: %t", watched), func(t *testing.T) {
			w := &world{t: t, api: shared.Server(t).Client, pool: fmt.Sprintf("storage-%d", pools.Add(1))}
			w.install(HostKind(), clusterKind)
			mgr, r := w.lateOperator()
			owner := types.NamespacedName{Namespace: ns, Name: w.pool + "-gone"}
			h := w.object(HostKind(), w.pool+"-host", consumedBy(machineKind, owner.Name))
			w.patch(h, `{"status":{"provisioning":{"state":"provisioned"}}}`)
			claim := w.claimOfOneThatIsGone(owner)
			kept := func(again time.Duration, what string) {
				t.Helper()
				w.eventually(func() bool {
					result, err := r.releaseClaims(t.Context(), machineKind, owner)
					return err == nil && result.RequeueAfter == again
				}, "%s", what)
				require.NoError(t, w.api.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
				require.True(t, controllerutil.ContainsFinalizer(claim, Finalizer), what)
			}
			kept(cacheLag, "the claim is in the cache, and the host runs")
			if watched {
				require.NoError(t, r.Add(mgr, HostKind()))
				kept(hostPoll, "hosts are watched, and the host runs")
			}

			w.patch(h, `{"spec":{"consumerRef":null}}`)
			w.eventually(func() bool {
				return apierrors.IsNotFound(w.api.Get(context.Background(), client.ObjectKeyFromObject(claim), claim))
			}, "released")
			w.gone(h)
		})
	}
}

// lateOperator is one that started before the kind of hosts was there.
func (w *world) lateOperator() (ctrl.Manager, *Reconciler) {
	w.t.Helper()
	s, yes := shared.Server(w.t), true
	configuration := rest.CopyConfig(s.Config)
	configuration.QPS = -1
	mgr, err := ctrl.NewManager(configuration, ctrl.Options{Scheme: s.Scheme, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &yes}})
	require.NoError(w.t, err)
	r := &Reconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: events.NewFakeRecorder(1000), Log: slog.New(slog.DiscardHandler),
		Now: time.Now}
	require.NoError(w.t, r.Add(mgr, machineKind))
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	w.t.Cleanup(func() { stop(); done.Wait() })
	return mgr, r
}

func (w *world) claimOfOneThatIsGone(owner types.NamespacedName) *metal3.IPClaim {
	w.t.Helper()
	yes := true
	claim := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: w.pool + "-claim",
		Labels: map[string]string{OwnerLabel: ownerLabel(machineKind, owner.Name)}, Finalizers: []string{Finalizer},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: machineKind.GroupVersion().String(), Kind: machineKind.Kind,
			Name: owner.Name, UID: "gone", Controller: &yes}}}}
	claim.Spec.Pool = metal3.ObjectReference{Name: w.pool}
	require.NoError(w.t, w.api.Create(w.t.Context(), claim))
	return claim
}
