package config_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/contractversion"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/hostnet"
)

// hostDefinition is as much of the kind BareMetalHost as is read.
const hostDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"baremetalhosts.metal3.io"},
"spec":{"group":"metal3.io","scope":"Namespaced","names":{"plural":"baremetalhosts","singular":"baremetalhost","kind":"BareMetalHost"},
"versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// refusals records what the API server forbids.
type refusals struct {
	next http.RoundTripper
	mu   *sync.Mutex
	all  *[]string
}

// RoundTrip implements http.RoundTripper.
func (r refusals) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(q)
	if err == nil && answer.StatusCode == http.StatusForbidden {
		r.mu.Lock()
		*r.all = append(*r.all, q.Method+" "+q.URL.Path)
		r.mu.Unlock()
	}
	return answer, err
}

// TestTheOperatorServesAddressesWithItsOwnRights has the operator's controllers of addresses at work as its service account on a hub,
// where config/operator is installed and nothing else, from a pool to a host's config and back. Nothing is forbidden to it.
func TestTheOperatorServesAddressesWithItsOwnRights(t *testing.T) {
	s := shared.Server(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, metal3.AddToScheme, contractversion.AddToScheme(""), lockv1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	api, err := client.New(s.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	apply(t, s, build(t, withComponent(t, "components/capi-ipam"))...)
	apply(t, s, build(t, "operator")...)
	definition := &unstructured.Unstructured{}
	require.NoError(t, definition.UnmarshalJSON([]byte(hostDefinition)))
	err = api.Create(t.Context(), definition)
	require.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	eventually := func(holds func() bool, what string) {
		t.Helper()
		require.Eventually(t, holds, 3*time.Minute, tick, what)
	}

	var mu sync.Mutex
	var forbidden []string
	as := rest.CopyConfig(s.Config)
	as.Impersonate = rest.ImpersonationConfig{UserName: operatorUser, Groups: groups}
	as.Wrap(func(next http.RoundTripper) http.RoundTripper { return refusals{next, &mu, &forbidden} })
	mgr, err := ctrl.NewManager(as, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	require.NoError(t, err)
	enabled, err := controller.Enabled(controller.Operator, []string{"ipam", "hostnet"})
	require.NoError(t, err)
	require.NoError(t, controller.Setup(mgr, enabled, controller.Options{Log: slog.New(slog.DiscardHandler)}))
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })

	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	read := func(name string, o client.Object) error {
		return api.Get(context.Background(), types.NamespacedName{Namespace: "default", Name: name}, o)
	}
	subnet := metal3.IPSubnetStr("192.0.2.0/24")
	pool := &metal3.IPPool{ObjectMeta: in("hub"), Spec: metal3.IPPoolSpec{NamePrefix: "hub", Quarantine: "1s", Sticky: true, Pools: []metal3.Pool{{Subnet: &subnet}}}}
	claim := &metal3.IPClaim{ObjectMeta: in("claim"), Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: "hub"}}}
	contract := &capi.IPAddressClaim{ObjectMeta: in("contract"), Spec: capi.IPAddressClaimSpec{
		PoolRef: capi.IPPoolReference{APIGroup: "ipam.metal3.io", Kind: "IPPool", Name: "hub"}}}
	host := &unstructured.Unstructured{}
	host.SetGroupVersionKind(hostnet.HostKind())
	host.SetNamespace("default")
	host.SetName("host")
	host.SetAnnotations(map[string]string{hostnet.NetworksAnnotation: "ens4=hub"})
	refused := &metal3.IPClaim{ObjectMeta: in("refused"), Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: "nowhere"}}}
	for _, o := range []client.Object{pool, claim, contract, host, refused} {
		eventually(func() bool { return api.Create(context.Background(), o) == nil }, fmt.Sprintf("%T is created", o))
	}
	eventually(func() bool {
		return read("claim", claim) == nil && claim.Status.Address != nil && read("contract", contract) == nil &&
			contract.Status.AddressRef.Name != "" && read("host-host-user-data", &corev1.Secret{}) == nil &&
			read("refused", refused) == nil && refused.Status.ErrorMessage != nil
	}, "all are served")

	for _, o := range []client.Object{claim, contract, host, refused} {
		require.NoError(t, api.Delete(t.Context(), o))
	}
	eventually(func() bool {
		return read("hub", pool) == nil && pool.Status.Used == 0 && pool.Status.Quarantined == 0 && pool.Status.Total == "254"
	}, "all is released")
	require.NoError(t, api.Delete(t.Context(), pool))
	eventually(func() bool { return apierrors.IsNotFound(read("hub", pool)) }, "the pool is deleted")
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, forbidden)
}
