package ipconfig

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

// wait is the polling interval against a real server.
const wait = 250 * time.Millisecond

// definition defines a kind of others, with any content.
func definition(gvk schema.GroupVersionKind, plural string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + gvk.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gvk.Group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: gvk.Kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: gvk.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &keep}}}},
		},
	}
}

// upgrade is an image based upgrade on the same node.
type upgrade struct{ w *world }

// newUpgrade makes the kind known to the API server for the length of the test.
func newUpgrade(w *world) upgrade {
	w.t.Helper()
	w.define(definition(cluster.ImageBasedUpgrade(), "imagebasedupgrades", apiextensionsv1.ClusterScoped))
	return upgrade{w}
}

// define makes a kind known to the API server for the length of the test.
func (w *world) define(crd *apiextensionsv1.CustomResourceDefinition) {
	w.t.Helper()
	_, err := envtest.InstallCRDs(shared.Server(w.t).Config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}})
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		require.Eventually(w.t, func() bool {
			return apierrors.IsNotFound(w.api.Delete(context.Background(), crd)) // gone, with all its objects
		}, time.Minute, wait)
		gone := schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
		require.Eventually(w.t, func() bool { return !served(w.t)[gone] }, time.Minute, wait, "the next test finds no trace of it")
	})
}

// served is every resource that the API server has now. A client's mapper remembers what other tests have defined.
func served(t testing.TB) map[schema.GroupResource]bool {
	t.Helper()
	api, err := discovery.NewDiscoveryClientForConfig(shared.Server(t).Config)
	require.NoError(t, err)
	_, lists, err := api.ServerGroupsAndResources()
	require.NoError(t, err)
	all := map[schema.GroupResource]bool{}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		require.NoError(t, err)
		for _, r := range l.APIResources {
			all[schema.GroupResource{Group: gv.Group, Resource: r.Name}] = true
		}
	}
	return all
}

func (u upgrade) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(cluster.ImageBasedUpgrade())
	o.SetName("upgrade")
	o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "PrepInProgress", "status": "True", "reason": "InProgress"}}}
	return o
}

// begin makes the upgrade hold the node, end releases it.
func (u upgrade) begin() {
	u.w.t.Helper()
	require.Eventually(u.w.t, func() bool {
		err := u.w.api.Create(u.w.t.Context(), u.object())
		return err == nil || apierrors.IsAlreadyExists(err)
	}, time.Minute, wait)
}

func (u upgrade) end() {
	u.w.t.Helper()
	require.NoError(u.w.t, u.w.api.Delete(u.w.t.Context(), u.object()))
}

// certificate is a certificate in PEM that ends at the given time.
func certificate(t *testing.T, notAfter time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: notAfter.Add(-time.Hour), NotAfter: notAfter}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
