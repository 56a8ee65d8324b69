package hostnet

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// The cache of claims may be ahead of that of addresses, of which no event tells: the machine is looked at again.
func TestAnAddressThatTheCacheDoesNotHaveYetIsLookedForAgain(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, metal3.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	m := newObject(machineKind)
	m.SetNamespace(ns)
	m.SetName("m")
	m.SetUID("u")
	m.SetAnnotations(map[string]string{NetworksAnnotation: "ens4=storage"})
	yes := true
	pool := &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "storage"}}
	c := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "m-ens4-storage", Finalizers: []string{Finalizer},
		Labels: map[string]string{OwnerLabel: ownerLabel(machineKind, "m")}, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: machineKind.GroupVersion().String(), Kind: machineKind.Kind, Name: "m", UID: "u", Controller: &yes}}},
		Status: metal3.IPClaimStatus{Address: &metal3.ObjectReference{Name: "storage-192-0-2-1"}}}
	a := &metal3.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "storage-192-0-2-1"},
		Spec: metal3.IPAddressSpec{Address: "192.0.2.1", Prefix: 24}}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(m, pool, c).Build()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	r := &Reconciler{Client: api, Reader: api, Events: events.NewFakeRecorder(9), Log: slog.New(slog.DiscardHandler), Metrics: metrics,
		Now: time.Now}
	result, err := r.reconcileOwner(t.Context(), machineKind, client.ObjectKeyFromObject(m))
	require.NoError(t, err)
	require.Equal(t, addressLag, result.RequeueAfter)

	require.NoError(t, api.Create(t.Context(), a))
	_, err = r.reconcileOwner(t.Context(), machineKind, client.ObjectKeyFromObject(m))
	require.NoError(t, err)
	secret := &corev1.Secret{}
	require.NoError(t, api.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "m" + ownSuffix}, secret))
}
