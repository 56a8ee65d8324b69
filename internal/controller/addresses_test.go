package controller

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/contractversion"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/hostnet"
)

// bare is a server without the kinds of address management.
var bare = apitest.New(apitest.Options{
	CRDs: []string{"lca.openshift.io_ipconfigs.yaml"},
	AddToScheme: []func(*runtime.Scheme) error{metal3.AddToScheme, contractversion.AddToScheme(""), lockv1.AddToScheme,
		nmstatev1.AddToScheme, v1beta1.AddToScheme, mcv1.Install},
})

func TestMain(m *testing.M) { os.Exit(bare.Run(m)) }

const (
	deadline = 3 * time.Minute
	tick     = 50 * time.Millisecond
)

// hostDefinition is as much of the kind BareMetalHost as is read.
const hostDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"baremetalhosts.metal3.io"},
"spec":{"group":"metal3.io","scope":"Namespaced","names":{"plural":"baremetalhosts","singular":"baremetalhost","kind":"BareMetalHost"},
"versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// Address management begins when its kinds are installed; so do the claims of the Cluster API and the hosts of metal3. The operator
// runs all the while.
func TestAddressKindsInstalledLaterAreServed(t *testing.T) {
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	s := bare.Server(t)
	mgr, err := ctrl.NewManager(s.Config, ctrl.Options{Scheme: s.Scheme, Metrics: server.Options{BindAddress: "0"}})
	require.NoError(t, err)
	enabled, err := Enabled(Operator, []string{"ipam", "hostnet"})
	require.NoError(t, err)
	require.NoError(t, Setup(mgr, enabled, Options{Log: slog.New(slog.DiscardHandler)}))
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })
	within := func(holds func() bool, what string) { t.Helper(); require.Eventually(t, holds, deadline, tick, what) }
	create := func(o client.Object) {
		t.Helper()
		within(func() bool { return s.Client.Create(context.Background(), o) == nil }, fmt.Sprintf("%T is created", o))
	}
	in := metav1.ObjectMeta{Namespace: "default", Name: "later"}
	key := types.NamespacedName{Namespace: in.Namespace, Name: in.Name}

	for _, kind := range []string{"ippools", "ipclaims", "ipaddresses"} {
		s.Apply(t, "config/crd/bases/ipam.metal3.io_"+kind+".yaml")
	}
	s.Apply(t, "config/crd/bases/ipam.lca.openshift.io_addresslocks.yaml")
	subnet := metal3.IPSubnetStr("192.0.2.0/24")
	create(&metal3.IPPool{ObjectMeta: in, Spec: metal3.IPPoolSpec{NamePrefix: "p", Pools: []metal3.Pool{{Subnet: &subnet}}}})
	claim := &metal3.IPClaim{ObjectMeta: in, Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: "later"}}}
	create(claim)
	within(func() bool { return s.Client.Get(ctx, key, claim) == nil && claim.Status.Address != nil }, "the claim is served")

	for _, kind := range []string{"ipaddressclaims", "ipaddresses"} {
		s.Apply(t, "config/components/capi-ipam/ipam.cluster.x-k8s.io_"+kind+".yaml")
	}
	contract := &capi.IPAddressClaim{ObjectMeta: in, Spec: capi.IPAddressClaimSpec{
		PoolRef: capi.IPPoolReference{APIGroup: "ipam.metal3.io", Kind: "IPPool", Name: "later"}}}
	create(contract)
	within(func() bool { return s.Client.Get(ctx, key, contract) == nil && contract.Status.AddressRef.Name != "" },
		"the claim of the Cluster API is served")

	definition := &unstructured.Unstructured{}
	require.NoError(t, definition.UnmarshalJSON([]byte(hostDefinition)))
	create(definition)
	host := &unstructured.Unstructured{}
	host.SetGroupVersionKind(hostnet.HostKind())
	host.SetNamespace(in.Namespace)
	host.SetName("host")
	host.SetAnnotations(map[string]string{hostnet.NetworksAnnotation: "ens4=later"})
	create(host)
	secret := &corev1.Secret{}
	within(func() bool {
		return s.Client.Get(ctx, types.NamespacedName{Namespace: in.Namespace, Name: "host-host-user-data"}, secret) == nil
	}, "the host has its own config")
}
