package ipam

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// provisioningDefinition is as much of OpenShift's kind Provisioning as is read.
const provisioningDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"provisionings.metal3.io"},
"spec":{"group":"metal3.io","scope":"Cluster","names":{"plural":"provisionings","singular":"provisioning","kind":"Provisioning"},
"versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// leases makes the cluster's Provisioning object for the time of the test.
func (w *world) leases(dhcpRange string) *unstructured.Unstructured {
	w.t.Helper()
	definition := &unstructured.Unstructured{}
	require.NoError(w.t, definition.UnmarshalJSON([]byte(provisioningDefinition)))
	err := w.api.Create(w.t.Context(), definition)
	require.True(w.t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"provisioningNetwork": "Managed", "provisioningDHCPRange": dhcpRange, "provisioningIP": "203.0.113.3"}}}
	o.SetGroupVersionKind(kinds.ProvisioningKind())
	o.SetName(kinds.ProvisioningName)
	w.eventually(func() bool { return w.api.Create(context.Background(), o) == nil }, "the Provisioning object is created")
	w.t.Cleanup(func() { require.NoError(w.t, w.api.Delete(context.Background(), o)) })
	return o
}

// onNetwork is a pool of what is around the range that the cluster leases.
func onNetwork(name, network24 string) func(*metal3.IPPoolSpec) {
	first, last := metal3.IPAddressStr(network24+".50"), metal3.IPAddressStr(network24+".99")
	return func(s *metal3.IPPoolSpec) { s.Network, s.Pools = name, []metal3.Pool{{Start: &first, End: &last}} }
}

// What the cluster's own metal3 leases is not allocated on the provisioning network, and told to pools that may be on it.
func TestWhatTheClusterLeasesIsNotAllocated(t *testing.T) {
	w := newWorld(t)
	o := w.leases("203.0.113.10,203.0.113.60")
	w.pool("static", onNetwork(kinds.ProvisioningNetwork, "203.0.113"))
	w.pool("nameless", onNetwork("", "203.0.113"))
	w.pool("elsewhere", onNetwork(w.network, "203.0.113"))
	r := w.start()
	for _, name := range []string{"static", "nameless", "elsewhere"} {
		w.claim(name, name)
	}
	const what = "range 203.0.113.50-203.0.113.99 overlaps DHCP range 203.0.113.10-203.0.113.60 of Provisioning provisioning-configuration"
	require.Contains(t, w.poolReason("static", metal3.ReasonOverlap), what)
	require.Contains(t, w.reason("static", metal3.ReasonPoolNotReady), what)
	require.Contains(t, w.poolReason("nameless", metal3.ReasonOverlap), what+"; if that is another network")
	w.address("nameless")
	w.address("elsewhere")
	w.poolReason("elsewhere", metal3.ReasonAvailable)

	require.NoError(t, w.api.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"provisioningDHCPRange":"203.0.113.10,203.0.113.49"}}`))))
	require.NoError(t, r.learnLeased(t.Context()))
	w.address("static")
	w.poolReason("static", metal3.ReasonAvailable)
	w.poolReason("nameless", metal3.ReasonAvailable)
	w.delete(&metal3.IPClaim{ObjectMeta: w.meta("static")})

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "metal3"}}
	require.NoError(t, client.IgnoreAlreadyExists(w.api.Create(t.Context(), namespace)))
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "metal3", Name: "ironic"}, Data: map[string]string{"DHCP_RANGE": "203.0.113.90,203.0.113.95"}}
	require.NoError(t, w.api.Create(t.Context(), config))
	t.Cleanup(func() { require.NoError(t, w.api.Delete(context.Background(), config)) })
	require.NoError(t, r.learnLeased(t.Context()))
	require.Contains(t, w.poolReason("static", metal3.ReasonOverlap), "DHCP_RANGE 203.0.113.90-203.0.113.95 of ConfigMap metal3/ironic")
	w.delete(&metal3.IPPool{ObjectMeta: w.meta("static")}) // the network has one name for all tests, and belongs to its first pool's namespace
}

// unreadableRange is an API with a range of metal3 that is none.
type unreadableRange struct{ client.Reader }

func (unreadableRange) Get(_ context.Context, name client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	config, ok := o.(*corev1.ConfigMap)
	if !ok || name != (client.ObjectKey{Namespace: "metal3", Name: "ironic"}) {
		return apierrors.NewNotFound(corev1.Resource("configmaps"), name.Name)
	}
	config.Namespace, config.Name, config.Data = name.Namespace, name.Name, map[string]string{"DHCP_RANGE": "somewhere"}
	return nil
}

// A range that cannot be read is reported, though nothing else is leased: pools may overlap it. It is reported once, not every minute.
func TestWhatCannotBeReadOfLeasesIsReportedOnce(t *testing.T) {
	var log strings.Builder
	r := New(Options{Reader: unreadableRange{}, Log: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now})
	for range 2 {
		require.NoError(t, r.learnLeased(t.Context()))
	}
	require.Equal(t, 1, strings.Count(log.String(), "ConfigMap metal3/ironic: DHCP_RANGE: "), log.String())
}

// The webhook refuses a pool of the provisioning network over what the cluster leases, and warns of one that names no network; so it
// does of two namespaces with the same addresses.
func TestWebhookKnowsWhatTheClusterLeases(t *testing.T) {
	w := newWorld(t)
	w.leases("198.18.7.10,198.18.7.60")
	handler := &overlaps{w.api, admission.NewDecoder(w.server.Scheme)}
	asked := func(namespace, network string) admission.Response {
		p := &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"}, Spec: metal3.IPPoolSpec{NamePrefix: "p", Prefix: 24}}
		onNetwork(network, "198.18.7")(&p.Spec)
		raw, err := json.Marshal(p)
		require.NoError(t, err)
		return handler.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: admissionv1.Create, Namespace: namespace, Name: "p", Object: runtime.RawExtension{Raw: raw}}})
	}
	refused := asked(w.namespace, kinds.ProvisioningNetwork)
	require.False(t, refused.Allowed)
	require.Contains(t, refused.Result.Message, "overlaps DHCP range 198.18.7.10-198.18.7.60 of Provisioning")
	warned := asked(w.namespace, "")
	require.True(t, warned.Allowed)
	require.Contains(t, strings.Join(warned.Warnings, "\n"), "if that is another network, name it in spec.network")
	require.Empty(t, asked(w.namespace, w.network).Warnings)

	w.pool("q", onNetwork("", "198.18.7"))
	warned = asked("somewhere-else", "")
	require.True(t, warned.Allowed)
	require.Contains(t, strings.Join(warned.Warnings, "\n"), "of pool "+w.namespace+"/q")
	require.Contains(t, strings.Join(warned.Warnings, "\n"), "if the namespaces share a network, name it in spec.network of both pools")
}
