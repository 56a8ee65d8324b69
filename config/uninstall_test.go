package config_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/ipam"
)

// uninstallTimeout is generous: a machine that runs all tests is slow, and the API server deletes definitions by and by.
const uninstallTimeout = 10 * time.Minute

// TestUninstallInTheDocumentedOrder follows docs/install.md: claims, pools, wait for addresses and locks, the operator, the definitions.
// Each step waits until what it deleted is gone, and the operator, whose part it is to take finalizers off, runs until the last of them is.
func TestUninstallInTheDocumentedOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	own := apitest.New(apitest.Options{CRDs: []string{"*.yaml", apitest.CAPIClaims},
		AddToScheme: []func(*runtime.Scheme) error{metal3.AddToScheme, capi.AddToScheme, lockv1.AddToScheme}})
	api := own.Server(t).Client
	t.Cleanup(func() { require.NoError(t, own.Stop()) })
	stop := runOperator(t, own.Server(t))

	fill(t, api)
	for _, kind := range []struct {
		list client.ObjectList
		one  client.Object
	}{{&metal3.IPClaimList{}, &metal3.IPClaim{}}, {&capi.IPAddressClaimList{}, &capi.IPAddressClaim{}}} {
		require.NoError(t, api.DeleteAllOf(t.Context(), kind.one, client.InNamespace("default")))
		awaitNone(t, api, kind.list)
	}
	// A pool is deleted once its status counts no address: until then a policy refuses it, where that is installed.
	awaitNone(t, api, &metal3.IPAddressList{})
	awaitNone(t, api, &capi.IPAddressList{})
	require.NoError(t, api.DeleteAllOf(t.Context(), &metal3.IPPool{}, client.InNamespace("default")))
	awaitNone(t, api, &metal3.IPPoolList{})
	awaitNone(t, api, &lockv1.AddressLockList{})
	stop()

	// The kinds of the node role have no finalizer: no agent has to run.
	require.NoError(t, api.Create(t.Context(), &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName},
		Spec: lcav1.IPConfigSpec{Stage: lcav1.StageIdle}}))
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	require.NoError(t, api.List(t.Context(), definitions))
	for i := range definitions.Items {
		require.NoError(t, client.IgnoreNotFound(api.Delete(t.Context(), &definitions.Items[i])))
	}
	awaitNone(t, api, &apiextensionsv1.CustomResourceDefinitionList{})
}

// runOperator runs address management as the operator does, and returns how to stop it.
func runOperator(t *testing.T, s *apitest.Server) (stop func()) {
	t.Helper()
	repeated := true
	mgr, err := ctrl.NewManager(s.Config, ctrl.Options{Scheme: s.Scheme, Metrics: server.Options{BindAddress: "0"},
		Controller: controllerconfig.Controller{SkipNameValidation: &repeated}})
	require.NoError(t, err)
	metrics, err := ipam.NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	r := ipam.New(ipam.Options{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("test"),
		Log: slog.New(slog.DiscardHandler), Metrics: metrics, Now: time.Now, Contract: capi.GroupVersion.Version})
	require.NoError(t, r.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = mgr.Start(ctx) })
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return stop
}

// fill makes a pool and claims of both kinds, one of them with an address that metal3's controller made, with its finalizer.
func fill(t *testing.T, api client.Client) {
	t.Helper()
	first, last := metal3.IPAddressStr("192.0.2.1"), metal3.IPAddressStr("192.0.2.9")
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	require.NoError(t, api.Create(t.Context(), &metal3.IPPool{ObjectMeta: in("p"), Spec: metal3.IPPoolSpec{NamePrefix: "p", Network: "p", Prefix: 24,
		Pools: []metal3.Pool{{Start: &first, End: &last}}}}))
	names := []string{"a", "b", "c"}
	for _, name := range names {
		require.NoError(t, api.Create(t.Context(), &metal3.IPClaim{ObjectMeta: in(name), Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: "p"}}}))
	}
	require.NoError(t, api.Create(t.Context(), &capi.IPAddressClaim{ObjectMeta: in("d"),
		Spec: capi.IPAddressClaimSpec{PoolRef: capi.IPPoolReference{APIGroup: "ipam.metal3.io", Kind: "IPPool", Name: "p"}}}))
	for _, name := range names {
		require.Eventually(t, func() bool {
			c := &metal3.IPClaim{}
			return api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, c) == nil && c.Status.Address != nil
		}, uninstallTimeout, 100*time.Millisecond, "claim %s has an address", name)
	}
	require.Eventually(t, func() bool {
		c := &capi.IPAddressClaim{}
		return api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "d"}, c) == nil && c.Status.AddressRef.Name != ""
	}, uninstallTimeout, 100*time.Millisecond)
	keepAsMetal3(t, api, "a")
}

// keepAsMetal3 puts on the address of a claim the finalizer that metal3's controller uses.
func keepAsMetal3(t *testing.T, api client.Client, claim string) {
	t.Helper()
	c, a := &metal3.IPClaim{}, &metal3.IPAddress{}
	require.NoError(t, api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: claim}, c))
	require.Eventually(t, func() bool {
		if api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: c.Status.Address.Name}, a) != nil {
			return false
		}
		a.Finalizers = []string{metal3.AddressFinalizer}
		return api.Update(t.Context(), a) == nil
	}, uninstallTimeout, 100*time.Millisecond)
}

// awaitNone waits until no object of a kind is left. If some are, it says which, since when they are to go, and what keeps them.
func awaitNone(t *testing.T, api client.Client, list client.ObjectList) {
	t.Helper()
	var left []string
	ended := time.Now().Add(uninstallTimeout)
	for {
		left = left[:0]
		err := api.List(t.Context(), list)
		if err == nil {
			err = eachOf(list, func(o client.Object) {
				left = append(left, fmt.Sprintf("%s/%s deleted %v finalizers %q", o.GetNamespace(), o.GetName(), o.GetDeletionTimestamp(), o.GetFinalizers()))
			})
		}
		if err == nil && len(left) == 0 {
			return
		}
		if time.Now().After(ended) {
			t.Fatalf("%T still has, after %s: %v %v", list, uninstallTimeout, left, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func eachOf(list client.ObjectList, do func(client.Object)) error {
	return meta.EachListItem(list, func(o runtime.Object) error {
		do(o.(client.Object))
		return nil
	})
}
