package hostnet

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// object makes an object of any kind, on the world's pool if it says so.
func (w *world) object(kind schema.GroupVersionKind, name string, spec map[string]any, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	w.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(ns)
	o.SetName(name)
	for _, f := range change {
		f(o)
	}
	require.NoError(w.t, w.api.Create(w.t.Context(), o))
	return o
}

// onPool asks for an address; held has somebody's finalizer keep the object, as its own controller does.
func (w *world) onPool(o *unstructured.Unstructured) {
	o.SetAnnotations(map[string]string{NetworksAnnotation: "ens4=" + w.pool})
}

func held(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/controller"}) }

func (w *world) patch(o client.Object, text string, args ...any) {
	w.t.Helper()
	require.NoError(w.t, w.api.Patch(w.t.Context(), o, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, text, args...))))
}

// leaves deletes an object that is held, as its users do; gone has its controller let it go.
func (w *world) leaves(o client.Object) {
	w.t.Helper()
	require.NoError(w.t, w.api.Delete(w.t.Context(), o))
}

func (w *world) gone(o client.Object) {
	w.t.Helper()
	require.NoError(w.t, client.IgnoreNotFound(w.api.Delete(w.t.Context(), o)))
	err := w.api.Patch(w.t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	require.NoError(w.t, client.IgnoreNotFound(err))
	w.eventually(func() bool {
		return apierrors.IsNotFound(w.api.Get(context.Background(), client.ObjectKeyFromObject(o), o))
	}, "%s goes", o.GetName())
}

// fence is an owner with a pool of its own that is served after whatever happened before: when it is, the events before it have been
// handled.
func (w *world) fence(kind schema.GroupVersionKind, name string) {
	w.t.Helper()
	first, last := metal3.IPAddressStr("172.23.0.1"), metal3.IPAddressStr("172.23.0.9")
	require.NoError(w.t, w.api.Create(w.t.Context(), &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: metal3.IPPoolSpec{NamePrefix: name, Network: name, Prefix: 24, Pools: []metal3.Pool{{Start: &first, End: &last}}}}))
	o := w.object(kind, name, map[string]any{}, func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{NetworksAnnotation: "ens4=" + name})
	})
	w.userData(name)
	w.gone(o)
}

func (w *world) address() string {
	w.t.Helper()
	require.Len(w.t, w.locks(), 1)
	return w.locks()[0].Spec.Address
}

func consumedBy(kind schema.GroupVersionKind, name string) map[string]any {
	return map[string]any{"consumerRef": map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "name": name, "namespace": ns}}
}

// A host that owns its claims keeps them through its deprovisioning, and loses them when it may run nothing any more.
func TestHostKeepsItsAddressUntilItIsDeprovisioned(t *testing.T) {
	for _, state := range []string{"provisioning", "provisioned", "externally provisioned", "deprovisioning"} {
		t.Run(state, func(t *testing.T) {
			w := newWorld(t)
			w.newPool(func(*metal3.IPPoolSpec) {})
			h := w.object(HostKind(), w.pool+"-host", map[string]any{}, w.onPool, held)
			w.userData(h.GetName())
			had := w.address()
			w.patch(h, `{"status":{"provisioning":{"state":%q}}}`, state)
			w.leaves(h)
			w.fence(HostKind(), w.pool+"-fence")
			require.Equal(t, had, w.address(), "the host still runs with it")
			w.patch(h, `{"status":{"provisioning":{"state":"powering off before delete"}}}`)
			w.eventually(func() bool { return len(w.locks()) == 0 }, "deprovisioned: the address is back")
			w.gone(h)
		})
	}
}

// A host that is gone, as one that was only detached, takes its address with it even in a sticky pool.
func TestHostThatIsGoneIsKeptNothingFor(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(s *metal3.IPPoolSpec) { s.Sticky = true })
	h := w.object(HostKind(), w.pool+"-host", map[string]any{}, w.onPool)
	w.userData(h.GetName())
	require.Equal(t, "default/"+w.pool+"-host/ens4", w.locks()[0].Spec.Host)
	w.patch(h, `{"status":{"provisioning":{"state":"provisioned"}}}`)
	w.gone(h)
	w.eventually(func() bool { return len(w.locks()) == 0 }, "nothing is left of it")
}

// machinePair makes a Machine of the Cluster API with its Metal3Machine.
func (w *world) machinePair(name string, change ...func(*unstructured.Unstructured)) (machine, infrastructure *unstructured.Unstructured) {
	w.t.Helper()
	infrastructure = w.object(metal3Machine, name+"-infra", map[string]any{}, held)
	machine = w.object(contractMachine, name, map[string]any{"clusterName": w.pool, "infrastructureRef": map[string]any{
		"apiGroup": metal3Machine.Group, "kind": metal3Machine.Kind, "name": name + "-infra"}}, append(change, w.onPool, held)...)
	return machine, infrastructure
}

// A host names the Metal3Machine, not the Machine that owns the claim: the address stays as long as it does, though both machines are
// gone, and the next machine on the host has it again.
func TestMachineOfTheClusterAPIKeepsItsAddressUntilItsHostIsDeprovisioned(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(s *metal3.IPPoolSpec) { s.Sticky = true })
	first, firstInfra := w.machinePair(w.pool + "-first")
	h := w.object(HostKind(), w.pool+"-host", consumedBy(metal3Machine, firstInfra.GetName()))
	w.userData(first.GetName())
	had := w.address()
	require.Equal(t, "default/"+w.pool+"-host/ens4", w.locks()[0].Spec.Host)
	claims := &metal3.IPClaimList{}
	require.NoError(t, w.api.List(t.Context(), claims, client.InNamespace(ns), client.MatchingLabels{metal3.ClusterNameLabel: w.pool}))
	require.Len(t, claims.Items, 1, "the claim belongs to the Cluster, as its machine")
	require.True(t, metav1.IsControlledBy(&claims.Items[0], first))

	w.leaves(first)
	w.fence(contractMachine, w.pool+"-fence-1")
	require.Equal(t, had, w.heldBy(claims.Items[0].Name), "on its way out, its host still running")
	w.gone(firstInfra)
	w.gone(first)
	w.fence(contractMachine, w.pool+"-fence-2")
	require.Equal(t, had, w.heldBy(claims.Items[0].Name), "gone, its host still running")
	w.patch(h, `{"spec":{"consumerRef":null}}`)
	w.eventually(func() bool { return w.heldBy(claims.Items[0].Name) == "" }, "deprovisioned: released, and kept for the host")

	second, secondInfra := w.machinePair(w.pool + "-second")
	w.patch(h, `{"spec":{"consumerRef":{"apiVersion":%q,"kind":"Metal3Machine","name":%q,"namespace":"default"}}}`,
		metal3Machine.GroupVersion().String(), secondInfra.GetName())
	w.userData(second.GetName())
	require.Equal(t, had, w.heldBy(second.GetName()+"-ens4-"+w.pool), "the host's address")
}

// heldBy is the address that a claim holds.
func (w *world) heldBy(claim string) string {
	for _, l := range w.locks() {
		if l.Spec.State == lockv1.LockHeld && l.Spec.Claim.Name == claim {
			return l.Spec.Address
		}
	}
	return ""
}

// What belongs to a paused Cluster is left alone: nothing is made for it, and nothing of it is given back.
func TestPausedCluster(t *testing.T) {
	for name, pause := range map[string][2]string{
		"spec":       {`{"spec":{"paused":true}}`, `{"spec":{"paused":null}}`},
		"annotation": {`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.newPool(func(*metal3.IPPoolSpec) {})
			before, infra := w.machinePair(w.pool + "-before")
			cluster := w.object(clusterKind, w.pool, map[string]any{})
			w.userData(before.GetName())
			had := w.address()
			w.patch(cluster, "%s", pause[0])
			w.machinePair(w.pool + "-while")
			w.leaves(before)
			w.gone(infra)
			w.fence(contractMachine, w.pool+"-fence")
			require.Equal(t, had, w.address(), "nothing is given back, nothing made")
			w.gone(before)
			w.fence(contractMachine, w.pool+"-fence-2")
			require.Equal(t, had, w.address(), "the claim knows its Cluster when the machine is gone")
			w.patch(cluster, "%s", pause[1])
			w.userData(w.pool + "-while")
			w.eventually(func() bool { return w.heldBy(before.GetName()+"-ens4-"+w.pool) == "" }, "now it is")
		})
	}
}

// The annotation on the owner itself does the same, by the word of either project.
func TestPausedOwner(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(*metal3.IPPoolSpec) {})
	for kind, annotation := range map[schema.GroupVersionKind]string{machineKind: "cluster.x-k8s.io/paused", HostKind(): "baremetalhost.metal3.io/paused"} {
		o := w.object(kind, w.pool+"-paused", map[string]any{}, func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{NetworksAnnotation: "ens4=" + w.pool, annotation: ""})
		})
		w.fence(kind, w.pool+"-fence-"+strings.ToLower(kind.Kind))
		require.Empty(t, w.locks())
		w.patch(o, `{"metadata":{"annotations":{%q:null}}}`, annotation)
		w.userData(o.GetName())
		w.gone(o)
		w.eventually(func() bool { return len(w.locks()) == 0 }, "released")
	}
}

// A cache without hosts, as one that is not filled yet, is no reason to release an address or to give up what is kept for a host.
func TestEmptyCacheReleasesNothing(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(s *metal3.IPPoolSpec) { s.Sticky = true })
	name := w.pool + "-machine"
	h := w.object(HostKind(), w.pool+"-host", consumedBy(machineKind, name))
	m := w.machine(name, "ens4="+w.pool, "")
	w.userData(name)
	w.patch(h, `{"status":{"provisioning":{"state":"provisioned"}}}`)
	w.gone(m)
	base, err := client.NewWithWatch(shared.Server(t).Config, client.Options{Scheme: shared.Server(t).Scheme})
	require.NoError(t, err)
	blind := interceptor.NewClient(base, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, hosts := list.(*unstructured.UnstructuredList); hosts {
				return nil
			}
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, host := o.(*unstructured.Unstructured); host {
				return apierrors.NewNotFound(schema.GroupResource{Resource: "baremetalhosts"}, key.Name)
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	r := &Reconciler{Client: blind, Reader: base, Log: slog.New(slog.DiscardHandler), controllers: map[schema.GroupVersionKind]controller.Controller{HostKind(): nil}}
	for range 2 { // with and without hosts being watched
		result, err := r.releaseClaims(t.Context(), machineKind, types.NamespacedName{Namespace: ns, Name: name})
		require.NoError(t, err)
		require.NotZero(t, result.RequeueAfter)
		r.controllers = nil
	}
	require.Equal(t, lockv1.LockHeld, w.locks()[0].Spec.State)

	w.patch(h, `{"spec":{"consumerRef":null}}`)
	w.eventually(func() bool { l := w.locks(); return len(l) == 1 && l[0].Spec.State == lockv1.LockReserved }, "kept for the host")
	require.NoError(t, r.releaseKeptAddresses(t.Context(), client.ObjectKeyFromObject(h)))
	require.Len(t, w.locks(), 1, "the host is there")
	w.gone(h)
	w.eventually(func() bool { return len(w.locks()) == 0 }, "the host is gone")
}
