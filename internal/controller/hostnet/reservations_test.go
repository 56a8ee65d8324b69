package hostnet

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// registered makes a claim as "kubectl lca ipam reserve" writes it, and waits for its address.
func (w *world) registered(name, host string) string {
	w.t.Helper()
	c := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{metal3.PreRegisteredLabel: "true"},
		Annotations: map[string]string{metal3.HostAnnotation: host}}, Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: w.pool}}}
	require.NoError(w.t, w.api.Create(w.t.Context(), c))
	w.eventually(func() bool { return w.heldBy(name) != "" }, "%s has an address", name)
	return w.heldBy(name)
}

// A master that was registered in advance by whatever name its machine, its host or its node gives it keeps the address through two
// replacements; the address is free when its host is deleted.
func TestAReservedMasterKeepsItsAddressThroughReplacements(t *testing.T) {
	for i, c := range []struct {
		reserved, host, machine, node string
	}{
		{reserved: "master-%d", host: "openshift-master-%d", machine: "master-%d"},
		{reserved: "master-%d", host: "openshift-master-%d", machine: "ostest-x7k2p-master-%d"},
		{reserved: "openshift-master-%d", host: "openshift-master-%d", machine: "ostest-x7k2p-master-%d"},
		{reserved: "ostest-x7k2p-master-%d", host: "rack-7-%d", machine: "ostest-x7k2p-master-%d"},
		{reserved: "master-%d", host: "rack-7-%d", machine: "ctl-%d", node: "master-%d.site.example.com"},
		{reserved: "default/rack-8-%d", host: "rack-8-%d", machine: "ctl-%d"},
		{reserved: "default/rack-8-%d/ens4", host: "rack-8-%d", machine: "ctl-%d"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			named := func(format string) string {
				if format == "" {
					return ""
				}
				return fmt.Sprintf(format, 100+i)
			}
			w := newWorld(t)
			w.newPool(func(s *metal3.IPPoolSpec) { s.Sticky = true })
			reservation := w.pool + "-reserved"
			had := w.registered(reservation, named(c.reserved))
			h := w.object(HostKind(), named(c.host), map[string]any{}, func(o *unstructured.Unstructured) {
				o.Object["status"] = map[string]any{"provisioning": map[string]any{"state": "available"}}
			})
			serve := func(machine, node string) *unstructured.Unstructured {
				w.patch(h, `{"spec":{"consumerRef":{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","name":%q,"namespace":"default"}}}`, machine)
				m := &unstructured.Unstructured{Object: map[string]any{}}
				m.SetGroupVersionKind(machineKind)
				m.SetNamespace(ns)
				m.SetName(machine)
				m.SetLabels(map[string]string{infraLabel: "ostest-x7k2p"})
				require.NoError(t, w.api.Create(t.Context(), m))
				if node != "" {
					require.NoError(t, w.api.Status().Patch(t.Context(), m, client.RawPatch(types.MergePatchType,
						fmt.Appendf(nil, `{"status":{"nodeRef":{"kind":"Node","name":%q}}}`, node))))
				}
				w.patch(m, `{"metadata":{"annotations":{%q:%q}}}`, NetworksAnnotation, "ens4="+w.pool)
				w.userData(machine)
				return m
			}
			replace := func(m *unstructured.Unstructured) {
				w.gone(m)
				w.patch(h, `{"spec":{"consumerRef":null}}`)
				w.eventually(func() bool { _, state := w.heldFor(h.GetName()); return state == lockv1.LockReserved }, "kept for the host")
			}
			first := serve(named(c.machine), named(c.node))
			require.Equal(t, had, w.heldBy(reservation))
			w.eventually(func() bool { _, state := w.heldFor(h.GetName()); return state == lockv1.LockHeld }, "the lock has the host's identity")
			require.Len(t, w.locks(), 1)
			replace(first)
			second := serve(w.pool+"-second", "")
			now, _ := w.heldFor(h.GetName())
			require.Equal(t, had, now)
			replace(second)
			third := serve(w.pool+"-third", "")
			now, _ = w.heldFor(h.GetName())
			require.Equal(t, had, now)
			w.gone(third)
			w.gone(h)
			w.eventually(func() bool { return len(w.locks()) == 0 }, "the address of a deleted host is free")
		})
	}
}

// A name that another host or machine has as its own is no alias: that one's reservation is left to it.
func TestAReservationOfAnotherHostIsLeftToIt(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(s *metal3.IPPoolSpec) { s.Sticky = true })
	plain, prefixed := w.pool+"-m", "openshift-"+w.pool+"-m"
	had := w.registered(w.pool+"-reserved", plain)
	w.object(HostKind(), plain, map[string]any{})
	w.object(HostKind(), prefixed, consumedBy(machineKind, w.pool+"-first"))
	w.machine(w.pool+"-first", "ens4="+w.pool, "")
	w.userData(w.pool + "-first")
	require.NotEqual(t, had, w.heldBy(w.pool+"-first-ens4-"+w.pool))
	require.Equal(t, had, w.heldBy(w.pool+"-reserved"))
}

// What was adopted under the installer's name, by an operator that did not rewrite it, gets its identity.
func TestAnAdoptedReservationGetsItsIdentityLater(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(s *metal3.IPPoolSpec) { s.Sticky = true })
	name := w.pool + "-master"
	m := w.machine(name, "", "")
	yes := true
	c := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name + "-" + w.pool, Finalizers: []string{Finalizer},
		Labels:          map[string]string{metal3.PreRegisteredLabel: "true", OwnerLabel: ownerLabel(machineKind, name), InterfaceLabel: "ens4"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: machineKind.GroupVersion().String(), Kind: "Machine", Name: name, UID: m.GetUID(), Controller: &yes}},
		Annotations:     map[string]string{metal3.HostAnnotation: name}}, Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: w.pool}}}
	require.NoError(t, w.api.Create(t.Context(), c))
	w.eventually(func() bool { return w.heldBy(c.Name) != "" }, "it has its address")
	had := w.heldBy(c.Name)
	w.object(HostKind(), w.pool+"-host", consumedBy(machineKind, name))
	w.patch(m, `{"metadata":{"annotations":{%q:%q}}}`, NetworksAnnotation, "ens4="+w.pool)
	w.eventually(func() bool { now, _ := w.heldFor(w.pool + "-host"); return now == had }, "the lock has the host's identity")
}

// A reservation that nothing adopts is reported once, after the time that an installation takes, and no longer when something does.
func TestAReservationThatNothingAdoptsIsReported(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, metal3.AddToScheme(scheme))
	made := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "master-0-storage", CreationTimestamp: metav1.NewTime(made),
		Labels: map[string]string{metal3.PreRegisteredLabel: "true"}, Annotations: map[string]string{metal3.HostAnnotation: "master-0"}},
		Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: "storage"}}}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).WithStatusSubresource(c).Build()
	told, now := events.NewFakeRecorder(9), made.Add(time.Minute)
	r := &Reconciler{Client: api, Events: told, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}
	look := func() (condition *metav1.Condition, again time.Duration) {
		t.Helper()
		result, err := r.reconcileReservation(t.Context(), client.ObjectKeyFromObject(c))
		require.NoError(t, err)
		require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(c), c))
		return apimeta.FindStatusCondition(c.Status.Conditions, ConditionAdopted), result.RequeueAfter
	}
	condition, again := look()
	require.Nil(t, condition)
	require.Equal(t, adoptionGrace-time.Minute, again)
	now = now.Add(again)
	for range 2 {
		condition, again = look()
		require.Equal(t, metav1.ConditionFalse, condition.Status)
		require.Contains(t, condition.Message, `no machine or host that asks for pool storage is "master-0"`)
		require.Zero(t, again)
	}
	yes := true
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "machine.openshift.io/v1beta1", Kind: "Machine", Name: "m", UID: "u", Controller: &yes}}
	require.NoError(t, api.Update(t.Context(), c))
	condition, _ = look()
	require.Equal(t, metav1.ConditionTrue, condition.Status)
	require.Contains(t, <-told.Events, "Warning NotAdopted")
	require.Contains(t, <-told.Events, "Normal Adopted")
	require.Empty(t, told.Events)
	require.NoError(t, api.Delete(t.Context(), c))
	_, err := r.reconcileReservation(context.Background(), client.ObjectKeyFromObject(c))
	require.NoError(t, err)
	require.True(t, apierrors.IsNotFound(api.Get(t.Context(), client.ObjectKeyFromObject(c), c)))
}
