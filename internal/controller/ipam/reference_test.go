package ipam

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// A claim's reference names its pool by name, in the claim's own namespace. A kind or group of another provider is left to it, another
// namespace is refused. UID, ResourceVersion and FieldPath choose nothing, as in metal3's own manager: they are kept as written.
func TestTheReferenceOfAClaim(t *testing.T) {
	read := func(ref metal3.ObjectReference) *claim {
		return native{}.readClaim(&metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c"}, Spec: metal3.IPClaimSpec{Pool: ref}})
	}
	want := types.NamespacedName{Namespace: "n", Name: "p"}
	for name, c := range map[string]struct {
		ref     metal3.ObjectReference
		foreign bool
		refused string
	}{
		"a name":            {ref: metal3.ObjectReference{Name: "p"}},
		"all":               {ref: metal3.ObjectReference{Name: "p", Namespace: "n", Kind: "IPPool", APIVersion: "ipam.metal3.io/v1alpha1"}},
		"what chooses none": {ref: metal3.ObjectReference{Name: "p", UID: "u", ResourceVersion: "1", FieldPath: "f"}},
		"another kind":      {ref: metal3.ObjectReference{Name: "p", Kind: "InClusterIPPool"}, foreign: true},
		"another group":     {ref: metal3.ObjectReference{Name: "p", APIVersion: "example.com/v1"}, foreign: true},
		"another namespace": {ref: metal3.ObjectReference{Name: "p", Namespace: "m"}, refused: "pool m/p is in another namespace than the claim"},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(c.ref)
			require.Equal(t, want, got.pool)
			require.Equal(t, c.foreign, got.foreign)
			if c.refused == "" {
				require.Empty(t, got.badReference)
				return
			}
			require.Contains(t, got.badReference, c.refused)
		})
	}
}

// A pool that names a Cluster in ClusterName is paused with it.
func TestAPoolIsPausedWithItsCluster(t *testing.T) {
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"})
	cluster.SetNamespace("n")
	cluster.SetName("site")
	require.NoError(t, unstructured.SetNestedField(cluster.Object, true, "spec", "paused"))
	r := &Reconciler{Options: Options{Reader: fake.NewClientBuilder().WithObjects(cluster).Build()}}
	for name, want := range map[string]bool{"site": true, "other": false} {
		pool := &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "n"}, Spec: metal3.IPPoolSpec{ClusterName: &name}}
		paused, err := r.poolPaused(t.Context(), pool)
		require.NoError(t, err)
		require.Equal(t, want, paused, name)
	}
}
