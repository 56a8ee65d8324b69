package hostnet

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// The kind of hosts was installed after the operator started, which does not watch it: a claim is not released while a host serves its
// owner, and is once the host is deprovisioned.
func TestClaimsAreKeptForHostsThatAreNotWatched(t *testing.T) {
	w := newWorld(t)
	late := &Reconciler{Client: w.api, Reader: w.api, Events: events.NewFakeRecorder(100), Log: slog.New(slog.DiscardHandler),
		Kinds: []schema.GroupVersionKind{machineKind}, Metrics: w.metrics, Now: time.Now}
	owner := types.NamespacedName{Namespace: ns, Name: w.pool + "-gone"}
	h := w.object(HostKind(), w.pool+"-host", consumedBy(machineKind, owner.Name), held)
	w.patch(h, `{"status":{"provisioning":{"state":"provisioned"}}}`)
	claim := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: w.pool + "-claim",
		Labels:          map[string]string{OwnerLabel: ownerLabel(machineKind, owner.Name)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: machineKind.GroupVersion().String(), Kind: machineKind.Kind, Name: owner.Name, UID: "gone"}}}}
	claim.Spec.Pool = metal3.ObjectReference{Name: w.pool}

	require.NoError(t, w.api.Create(t.Context(), claim))
	result, err := late.release(t.Context(), machineKind, owner)
	require.NoError(t, err)
	require.Equal(t, unwatchedRetry, result.RequeueAfter, "the host runs")
	require.NoError(t, w.api.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
	require.Nil(t, claim.DeletionTimestamp)

	w.patch(h, `{"spec":{"consumerRef":null}}`)
	w.eventually(func() bool { // the world's own operator, which watches hosts, releases it as well
		_, _ = late.release(t.Context(), machineKind, owner)
		return w.api.Get(t.Context(), client.ObjectKeyFromObject(claim), claim) != nil
	}, "released")
	w.gone(h)
}
