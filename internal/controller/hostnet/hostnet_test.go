package hostnet

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/ignition"
)

var shared = apitest.New(apitest.Options{
	CRDs:          []string{"ipam.*.yaml"},
	OpenShiftCRDs: []string{"machines.machine.openshift.io"},
	AddToScheme:   []func(*runtime.Scheme) error{metal3.AddToScheme, lockv1.AddToScheme},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

const (
	deadline = 2 * time.Minute
	tick     = 25 * time.Millisecond
	ns       = "default"
)

var (
	machineKind     = schema.GroupVersionKind{Group: "machine.openshift.io", Version: "v1beta1", Kind: "Machine"}
	contractMachine = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}
	metal3Machine   = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "Metal3Machine"}
	clusterKind     = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}
)

var pools atomic.Int64

// world is the API server with an operator at work.
type world struct {
	t    testing.TB
	api  client.Client
	pool string
	// metrics are the controller's.
	metrics    *Metrics
	reconciler *Reconciler
	// requests are those of the operator.
	requests *requests
	recorded *events.FakeRecorder
}

func newWorld(t testing.TB) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	s := shared.Server(t)
	configuration := rest.CopyConfig(s.Config)
	configuration.QPS = -1
	api, err := client.New(configuration, client.Options{Scheme: s.Scheme})
	require.NoError(t, err)
	w := &world{t: t, api: api, pool: fmt.Sprintf("storage-%d", pools.Add(1))}
	kinds := []schema.GroupVersionKind{HostKind(), contractMachine, metal3Machine}
	w.install(append(kinds, clusterKind)...)
	yes := true
	w.requests = &requests{}
	counted := rest.CopyConfig(configuration)
	counted.Wrap(w.requests.wrap)
	mgr, err := ctrl.NewManager(counted, ctrl.Options{Scheme: s.Scheme, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &yes}})
	require.NoError(t, err)
	metrics, err := ipam.NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	w.metrics, err = NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	served := ipam.New(ipam.Options{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: events.NewFakeRecorder(1000), Log: slog.New(slog.DiscardHandler),
		Metrics: metrics, Now: time.Now})
	require.NoError(t, served.SetupWithManager(mgr))
	w.recorded = events.NewFakeRecorder(1000)
	r := &Reconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: w.recorded, Log: slog.New(slog.DiscardHandler),
		Metrics: w.metrics, Now: time.Now}
	for _, k := range append(kinds, machineKind) {
		require.NoError(t, r.Add(mgr, k))
	}
	w.reconciler = r
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })
	return w
}

// install installs as much of a kind as is read: that it is there.
func (w *world) install(kinds ...schema.GroupVersionKind) {
	w.t.Helper()
	for _, k := range kinds {
		err := w.api.Create(w.t.Context(), definition(k))
		require.True(w.t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	}
	for _, k := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(k)
		w.eventually(func() bool { return w.api.List(context.Background(), list) == nil }, "%s is served", k)
	}
}

func definition(k schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	yes, one := true, strings.ToLower(k.Kind)
	subresources := &apiextensionsv1.CustomResourceSubresources{}
	if k.Kind == "Machine" { // hosts of these tests are made with their status
		subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: one + "s." + k.Group, // those of *.k8s.io ask for an approval
			Annotations: map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, for tests"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: k.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: one + "s", Singular: one, Kind: k.Kind, ListKind: k.Kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: k.Version, Served: true, Storage: true, Subresources: subresources,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &yes}}}}},
	}
}

func (w *world) eventually(holds func() bool, why ...any) {
	w.t.Helper()
	require.Eventually(w.t, holds, deadline, tick, why...)
}

func (w *world) newPool(change func(*metal3.IPPoolSpec)) {
	w.t.Helper()
	first, last, gateway := metal3.IPAddressStr("172.22.0.10"), metal3.IPAddressStr("172.22.0.99"), metal3.IPAddressStr("172.22.0.1")
	vlan := int32(7)
	p := &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: w.pool}, Spec: metal3.IPPoolSpec{
		NamePrefix: w.pool, Network: w.pool, Prefix: 24, Gateway: &gateway, VLAN: &vlan, Pools: []metal3.Pool{{Start: &first, End: &last}}}}
	change(&p.Spec)
	require.NoError(w.t, w.api.Create(w.t.Context(), p))
}

func (w *world) secret(name string, data map[string][]byte) {
	w.t.Helper()
	require.NoError(w.t, w.api.Create(w.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: data}))
}

func (w *world) machine(name, networks, base string) *unstructured.Unstructured {
	w.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"providerSpec": map[string]any{
		"value": map[string]any{"userData": map[string]any{"name": base}}}}}}
	o.SetGroupVersionKind(machineKind)
	o.SetNamespace(ns)
	o.SetName(name)
	o.SetAnnotations(map[string]string{NetworksAnnotation: networks})
	o.SetFinalizers([]string{"machine.machine.openshift.io"})
	require.NoError(w.t, w.api.Create(w.t.Context(), o))
	return o
}

// host makes a BareMetalHost that serves a machine, or nobody.
func (w *world) host(name, machine, state string) *unstructured.Unstructured {
	w.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}, "status": map[string]any{"provisioning": map[string]any{"state": state}}}}
	if machine != "" {
		o.Object["spec"] = map[string]any{"consumerRef": map[string]any{"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": machine, "namespace": ns}}
	}
	o.SetGroupVersionKind(HostKind())
	o.SetNamespace(ns)
	o.SetName(name)
	require.NoError(w.t, w.api.Create(w.t.Context(), o))
	return o
}

// userData waits for the config of an owner.
func (w *world) userData(owner string) []byte {
	w.t.Helper()
	s := &corev1.Secret{}
	w.eventually(func() bool {
		return w.api.Get(context.Background(), types.NamespacedName{Namespace: ns, Name: owner + ownSuffix}, s) == nil
	}, "the Secret of %s", owner)
	require.NoError(w.t, ignition.Validate(s.Data["userData"]))
	return s.Data["userData"]
}

func (w *world) locks() (out []lockv1.AddressLock) {
	list := &lockv1.AddressLockList{}
	require.NoError(w.t, w.api.List(context.Background(), list))
	for _, l := range list.Items {
		if l.Spec.Network == w.pool {
			out = append(out, l)
		}
	}
	return out
}

func files(t *testing.T, config []byte) (paths []string) {
	t.Helper()
	var doc struct {
		Storage struct {
			Files []struct{ Path string }
		}
	}
	require.NoError(t, json.Unmarshal(config, &doc))
	for _, f := range doc.Storage.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

const roleConfig = `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/role","mode":420,"contents":{"source":"data:,worker"}}]}}`

// A machine gets its addresses and a config of its own, and uses it; it keeps them until its host is deprovisioned.
func TestMachineFromClaimToRelease(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(*metal3.IPPoolSpec) {})
	w.secret("worker-user-data", map[string][]byte{"userData": []byte(roleConfig)})
	m := w.machine("worker-0", "ens4="+w.pool, "worker-user-data")
	paths := files(t, w.userData("worker-0"))
	require.Contains(t, paths, "/etc/role")
	require.Contains(t, paths, "/etc/NetworkManager/system-connections/lca-ens4.7.nmconnection")
	w.eventually(func() bool {
		if w.api.Get(context.Background(), client.ObjectKeyFromObject(m), m) != nil {
			return false
		}
		name, _, _ := unstructured.NestedString(m.Object, "spec", "providerSpec", "value", "userData", "name")
		return name == "worker-0-host-user-data" && m.GetAnnotations()[BaseAnnotation] == "worker-user-data"
	}, "the machine uses its own config")
	claims := &metal3.IPClaimList{}
	require.NoError(t, w.api.List(t.Context(), claims, client.InNamespace(ns), client.MatchingLabels{OwnerLabel: "Machine.worker-0"}))
	require.Len(t, claims.Items, 1)
	require.True(t, metav1.IsControlledBy(&claims.Items[0], m))

	h := w.host("bmh-0", "worker-0", "provisioned")
	require.NoError(t, w.api.Delete(t.Context(), m))
	m.SetFinalizers(nil)
	require.NoError(t, w.api.Patch(t.Context(), m, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	c := &claims.Items[0]
	require.NoError(t, w.api.Delete(t.Context(), c)) // as the garbage collector does
	fence := w.machine("fence", "ens4="+w.pool, "worker-user-data")
	w.userData("fence")
	require.Len(t, w.locks(), 2, "the host still runs with the address")
	require.NoError(t, w.api.Patch(t.Context(), h, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"consumerRef":null}}`))))
	w.eventually(func() bool { return len(w.locks()) == 1 }, "deprovisioned: the address is back")
	require.NoError(t, w.api.Patch(t.Context(), fence, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	require.NoError(t, w.api.Delete(t.Context(), fence))
	w.eventually(func() bool { return len(w.locks()) == 0 }, "without a host there is nothing to wait for")
}

// What the installer gave a master, the master keeps.
func TestMasterRegisteredInAdvanceIsAdopted(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(s *metal3.IPPoolSpec) {
		s.PreAllocations = map[string]metal3.IPAddressStr{"reserved-master-0": "172.22.0.42"}
	})
	c := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "reserved-master-0", Labels: map[string]string{metal3.PreRegisteredLabel: "true"},
		Annotations: map[string]string{metal3.HostAnnotation: "master-0"}},
		Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: w.pool}}}
	require.NoError(t, w.api.Create(t.Context(), c))
	m := w.machine("master-0", "ens4="+w.pool, "")
	w.userData("master-0")
	require.NoError(t, w.api.Get(t.Context(), client.ObjectKeyFromObject(c), c))
	require.True(t, metav1.IsControlledBy(c, m))
	require.Contains(t, c.Finalizers, Finalizer)
	require.Len(t, w.locks(), 1)
	require.Equal(t, "172.22.0.42", w.locks()[0].Spec.Address)
}

// In a sticky pool the address is the host's: the next machine on it has the same; it goes with the host.
func TestAddressStaysWithTheHost(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(s *metal3.IPPoolSpec) { s.Sticky = true })
	h := w.host("bmh-sticky", "", "available")
	serve := func(machine string) {
		require.NoError(t, w.api.Patch(t.Context(), h, client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"consumerRef":{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","name":%q,"namespace":"default"}}}`, machine))))
	}
	serve("first")
	m := w.machine("first", "ens4="+w.pool, "")
	w.userData("first")
	had := w.locks()[0].Spec.Address
	require.NoError(t, w.api.Patch(t.Context(), m, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	require.NoError(t, w.api.Delete(t.Context(), m))
	serve("second")
	w.eventually(func() bool { return len(w.locks()) == 1 && w.locks()[0].Spec.State == lockv1.LockReserved }, "kept for the host")
	second := w.machine("second", "ens4="+w.pool, "")
	w.userData("second")
	require.Equal(t, had, w.locks()[0].Spec.Address)
	require.Len(t, w.locks(), 1)
	require.NoError(t, w.api.Patch(t.Context(), second, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	require.NoError(t, w.api.Delete(t.Context(), second))
	require.NoError(t, w.api.Delete(t.Context(), h))
	w.eventually(func() bool { return len(w.locks()) == 0 }, "the host is gone, and so is what was kept for it")
}

func TestLinks(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "[]",
		"ens4=a":                              "[{ens4 [a]}]",
		" ens4 = a + b , 00:11:22:33:44:55=c": "[{ens4 [a b]} {00:11:22:33:44:55 [c]}]",
	} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAnnotations(map[string]string{NetworksAnnotation: text})
		got, err := linksOf(o)
		require.NoError(t, err, text)
		require.Equal(t, want, fmt.Sprint(got))
	}
	for _, text := range []string{"ens4", "=a", "ens4=", "ens4=a,b"} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAnnotations(map[string]string{NetworksAnnotation: text})
		_, err := linksOf(o)
		require.ErrorContains(t, err, "is not of the form", text)
	}
}
