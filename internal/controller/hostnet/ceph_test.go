package hostnet

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// held is the address that is locked for a host, and the state of the lock.
func (w *world) heldFor(host string) (address string, state lockv1.LockState) {
	w.t.Helper()
	for _, l := range w.locks() {
		if l.Spec.Host == ns+"/"+host+"/ens4" {
			return l.Spec.Address, l.Spec.State
		}
	}
	return "", ""
}

// A storage host of Ceph keeps its address through its machine: the machine is deleted, Kubernetes collects what it owned, the host is
// deprovisioned, and the machine that is made for it again, under the same name, has the same address. Machines on other hosts that
// come in between do not.
func TestStorageHostKeepsItsAddressThroughItsMachine(t *testing.T) {
	w := newWorld(t)
	shared.Server(t).StartGarbageCollector(t)
	w.newPool(func(s *metal3.IPPoolSpec) { s.Sticky, s.Quarantine = true, "1h" })
	host, machine := w.pool+"-osd", w.pool+"-ceph"
	h := w.object(HostKind(), host, map[string]any{}, func(o *unstructured.Unstructured) {
		o.Object["status"] = map[string]any{"provisioning": map[string]any{"state": "available"}}
	})
	provision := func() *unstructured.Unstructured {
		w.patch(h, `{"spec":{"consumerRef":{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","name":%q,"namespace":"default"}}}`, machine)
		m := w.machine(machine, "ens4="+w.pool, "")
		w.userData(machine)
		w.patch(h, `{"status":{"provisioning":{"state":"provisioned"}}}`)
		return m
	}
	m := provision()
	had, _ := w.heldFor(host)
	require.NotEmpty(t, had)

	w.gone(m)
	claim := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: machine + "-ens4-" + w.pool}}
	w.eventually(func() bool {
		err := w.api.Get(context.Background(), client.ObjectKeyFromObject(claim), claim)
		return err == nil && claim.DeletionTimestamp != nil
	}, "the garbage collector deletes the claim, and the finalizer keeps it")
	now, state := w.heldFor(host)
	require.Equal(t, had, now)
	require.Equal(t, lockv1.LockHeld, state, "the host still runs with it")
	w.patch(h, `{"spec":{"consumerRef":null},"status":{"provisioning":{"state":"available"}}}`)
	w.eventually(func() bool { _, state := w.heldFor(host); return state == lockv1.LockReserved }, "kept for the host")
	gone := func(o client.Object) {
		t.Helper()
		w.eventually(func() bool {
			return apierrors.IsNotFound(w.api.Get(context.Background(), client.ObjectKeyFromObject(o), o))
		}, "%T goes", o)
	}
	gone(claim)
	gone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: machine + ownSuffix}})
	left := &metal3.IPAddressList{}
	require.NoError(t, w.api.List(t.Context(), left, client.InNamespace(ns)))
	for _, a := range left.Items {
		require.NotEqual(t, w.pool, a.Spec.Pool.Name, "no address object is left")
	}

	for i := range 3 {
		rival := fmt.Sprintf("%s-rival-%d", w.pool, i)
		w.object(HostKind(), rival+"-host", consumedBy(machineKind, rival))
		w.machine(rival, "ens4="+w.pool, "")
		w.userData(rival)
		address, _ := w.heldFor(rival + "-host")
		require.NotEqual(t, had, address)
	}
	provision()
	now, state = w.heldFor(host)
	require.Equal(t, had, now)
	require.Equal(t, lockv1.LockHeld, state)
	require.NoError(t, w.api.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: claim.Name}, claim))
}
