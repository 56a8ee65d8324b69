package netpolicy

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

const claiming = "templateValues: [{name: storage, address: {namespace: default, pool: storage}}]\n" + document

func (w *world) claimName(policy string) client.ObjectKey {
	return client.ObjectKey{Namespace: "default", Name: w.name + "-" + policy + ".storage." + w.node(0)}
}

// serves gives a claim its address, as the allocator does.
func (w *world) serves(c *metal3.IPClaim, address string) {
	w.t.Helper()
	a := &metal3.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: w.name + "-" + address}}
	a.Spec.Address, a.Spec.Prefix = metal3.IPAddressStr(address), 24
	a.Spec.Claim, a.Spec.Pool = metal3.ObjectReference{Name: c.Name}, c.Spec.Pool
	require.NoError(w.t, w.api.Create(w.t.Context(), a))
	w.t.Cleanup(func() { _ = w.api.Delete(context.Background(), a); _ = w.api.Delete(context.Background(), c) })
	c.Status.Address = &metal3.ObjectReference{Name: a.Name}
	require.NoError(w.t, w.api.Status().Update(w.t.Context(), c))
}

func (w *world) claim(policy string, is func(*metal3.IPClaim) bool, what string) *metal3.IPClaim {
	w.t.Helper()
	c := &metal3.IPClaim{}
	w.eventually(func() bool { return w.api.Get(w.t.Context(), w.claimName(policy), c) == nil && is(c) },
		func() string { return what + ": " + asYAML(c) })
	return c
}

// TestTheAddressOfAnEarlierEnactmentIsNotUsed: its claim is about to be collected, and its address to be another's.
func TestTheAddressOfAnEarlierEnactmentIsNotUsed(t *testing.T) {
	w := newWorld(t, 1)
	old := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: w.claimName("p").Name,
		Labels: map[string]string{"nmstate.io/policy": w.name + "-p"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1beta1.GroupVersion.String(), Kind: "NodeNetworkConfigurationEnactment",
			Name: v1beta1.EnactmentName(w.node(0), w.name+"-p"), UID: types.UID("the-earlier")}}}}
	old.Spec.Pool = metal3.ObjectReference{Name: "storage"}
	require.NoError(t, w.api.Create(t.Context(), old))
	w.serves(old, "192.0.2.77")
	p := w.policy("p", claiming)
	w.reaches(p, "Progressing", "Policy is progressing 0/1 nodes finished, 1 pending")

	require.NoError(t, w.api.Delete(t.Context(), old)) // the garbage collector of Kubernetes does
	e := w.enactment(w.node(0), p)
	require.Empty(t, e.Annotations[v1beta1.ValuesAnnotation])
	c := w.claim("p", func(c *metal3.IPClaim) bool { return ownedBy(c, e) }, "claimed anew")
	require.Equal(t, map[condition.State]int{condition.Pending: 1}, w.states(p))
	w.serves(c, "192.0.2.78")
	w.reaches(p, "Available", "1/1 nodes successfully configured")
	require.JSONEq(t, `{"storage":"192.0.2.78","storage-prefix":"24"}`, w.enactment(w.node(0), p).Annotations[v1beta1.ValuesAnnotation])
}

// TestTheAddressOfTheFormerPoolStaysUntilTheNodeHasTheNew: a node whose enactment fails goes back to the address that it had.
func TestTheAddressOfTheFormerPoolStaysUntilTheNodeHasTheNew(t *testing.T) {
	w := newWorld(t, 1)
	p := w.policy("p", claiming)
	former := w.claim("p", func(*metal3.IPClaim) bool { return true }, "claimed")
	w.serves(former, "192.0.2.79")
	w.reaches(p, "Available", "1/1 nodes successfully configured")

	w.agents.fails(func(string, string) condition.State { return condition.Failed })
	now := w.get(p)
	now.Spec.TemplateValues[0].Address.Pool = "other"
	require.NoError(t, w.api.Update(t.Context(), now))
	c, name := &metal3.IPClaim{}, client.ObjectKey{Namespace: "default", Name: p.Name + ".storage.other." + w.node(0)}
	w.eventually(func() bool { return w.api.Get(t.Context(), name, c) == nil }, func() string { return "claimed of the other pool" })
	require.Equal(t, "other", c.Spec.Pool.Name)
	w.serves(c, "198.51.100.9")
	w.reaches(p, "Degraded", "1/1 nodes failed to configure")
	require.NoError(t, w.api.Get(t.Context(), client.ObjectKeyFromObject(former), former))
	require.Nil(t, former.DeletionTimestamp, "the node still has its address")

	w.agents.fails(nil)
	now = w.get(p)
	now.Spec.DesiredState.Raw = []byte(`{"interfaces":[{"name":"eth1","mtu":1401}]}`)
	require.NoError(t, w.api.Update(t.Context(), now))
	w.reaches(p, "Available", "1/1 nodes successfully configured")
	require.JSONEq(t, `{"storage":"198.51.100.9","storage-prefix":"24"}`, w.enactment(w.node(0), p).Annotations[v1beta1.ValuesAnnotation])
	w.eventually(func() bool {
		return apierrors.IsNotFound(w.api.Get(t.Context(), client.ObjectKeyFromObject(former), former))
	},
		func() string { return "the former address is released" })
	require.NoError(t, w.api.Get(t.Context(), name, c))
	require.Nil(t, c.DeletionTimestamp)
}
