package ipam

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/contractversion"
)

// only keeps one version of the Cluster API's definitions, as OpenShift ships them.
func only(version string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		if crd.Spec.Group != capi.GroupVersion.Group {
			return
		}
		crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name != version
		})
		crd.Spec.Versions[0].Storage = true
	}
}

// TestClaimsOfAnOlderContractAreServed: OpenShift has its own definitions of the Cluster API's kinds, in v1beta1 and no later.
func TestClaimsOfAnOlderContractAreServed(t *testing.T) {
	const version = "v1beta1"
	older := apitest.New(apitest.Options{
		CRDs: []string{"ipam.*.yaml", apitest.CAPIClaims}, Edit: only(version),
		AddToScheme: []func(*runtime.Scheme) error{metal3.AddToScheme, contractversion.AddToScheme(version), lockv1.AddToScheme},
	})
	t.Cleanup(func() { require.NoError(t, older.Stop()) })
	w := newWorldOn(t, older, version)
	api, err := discovery.NewDiscoveryClientForConfig(w.server.Config)
	require.NoError(t, err)
	served, err := contractversion.Find(api)
	require.NoError(t, err)
	require.Equal(t, version, served)

	w.start()
	w.pool("p", between(10, 20))
	claim := w.contractClaim("c", "p")
	require.Equal(t, "192.0.2.10", w.contractAddress("c"))
	address := &capi.IPAddress{}
	require.NoError(t, w.get("c", address))
	require.Equal(t, capi.GroupVersion.Group+"/"+version, address.OwnerReferences[1].APIVersion)
	require.NoError(t, w.get("c", claim))
	require.Equal(t, "Ready", claim.Status.Conditions[0].Type)
	w.delete(claim)
	w.noLocks()
}
