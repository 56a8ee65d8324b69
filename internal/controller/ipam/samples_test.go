package ipam

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// Manifests as metal3's users have them apply unchanged and are satisfied; so are the samples with what is added.
func TestSamplesAreSatisfied(t *testing.T) {
	w := newWorld(t)
	w.namespace = "default"
	for _, file := range []string{"ipam_metal3.yaml", "ipam_ippool_storage.yaml", "ipam_ippool_provisioning.yaml"} {
		w.server.Apply(t, "config/samples/"+file)
	}
	w.start()
	native, first, pinned := w.address("node-1"), w.contractAddress("node-1"), w.contractAddress("node-7")
	require.ElementsMatch(t, []string{"192.168.111.10", "192.168.111.11"}, []string{native, first}, "two claims, though of one name")
	require.Equal(t, "192.168.111.17", pinned)
	o := &metal3.IPAddress{}
	require.NoError(t, w.get("edge-baremetal-"+strings.ReplaceAll(native, ".", "-"), o))
	require.Equal(t, 25, o.Spec.Prefix)
	require.Equal(t, metal3.IPAddressStr("192.168.111.1"), *o.Spec.Gateway)
	require.Equal(t, []metal3.IPAddressStr{"192.168.111.53"}, o.Spec.DNSServers)

	old := &unstructured.Unstructured{}
	old.SetGroupVersionKind(schema.GroupVersionKind{Group: capi.GroupVersion.Group, Version: "v1beta1", Kind: "IPAddressClaim"})
	require.NoError(t, w.api.Get(context.Background(), types.NamespacedName{Namespace: "default", Name: "node-7"}, old))
	name, _, _ := unstructured.NestedString(old.Object, "status", "addressRef", "name")
	require.Equal(t, "node-7", name, "either version of the contract is served")
	conditions, _, _ := unstructured.NestedSlice(old.Object, "status", "conditions")
	require.Equal(t, "Allocated", conditions[0].(map[string]any)["reason"])
	a := &capi.IPAddress{}
	require.NoError(t, w.get("node-7", a))
	require.Equal(t, int32(25), *a.Spec.Prefix)
	require.Equal(t, "ipam.metal3.io", a.Spec.PoolRef.APIGroup)

	for _, name := range []string{"storage", "provisioning"} {
		w.poolReason(name, metal3.ReasonAvailable)
		c := w.claim("on-"+name, name, forHost("default/host-0/ens4"))
		w.address("on-" + name)
		w.delete(c)
		// A network belongs to the namespace of its first pool, here to the default one; other tests have theirs on it.
		w.delete(&metal3.IPPool{ObjectMeta: w.meta(name)})
	}
}
