package reconcile

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// registers applies the part hub of a cluster whose Secret names token and authority.
func registers(t *testing.T, create error, onHub ...client.Object) (
	out Outcome, here client.Client, dialled *[2]string, err error,
) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	here = fake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: nsConfig, Name: "acm"},
		Data:       map[string][]byte{"token": []byte("the-token"), "ca.crt": []byte("the-authority")},
	}).Build()
	there := fake.NewClientBuilder().WithScheme(scheme).WithObjects(onHub...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return create },
	}).Build()
	dialled = &[2]string{}
	r := &Reconciler{Client: runtimeclient.NewClient(here), Now: time.Now, Rand: rand.Reader,
		Hub: func(_ context.Context, _ string, ca []byte, token string) (kube.Client, error) {
			*dialled = [2]string{string(ca), token}
			return runtimeclient.NewClient(there), nil
		}}
	part, _ := Find(hubPart)
	out, err = r.Apply(t.Context(), part, siteconfig.SiteConfig{Hub: &siteconfig.Hub{
		URL: "https://hub.example.org:6443", ClusterName: "store-17", SecretRef: &siteconfig.SecretRef{Name: "acm"}}})
	return out, here, dialled, err
}

func importSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "store-17", Name: "store-17-import"}, Data: map[string][]byte{
		"crds.yaml":   []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: crds, namespace: default}\n"),
		"import.yaml": []byte("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: import, namespace: default, annotations: {a: b}}\n---\n"),
	}}
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "cluster.open-cluster-management.io", Resource: "managedclusters"},
		"store-17", errors.New("it may read Secrets alone"))
}

// TestAHubThatHasTheClusterAlready: an account that may read the import Secret alone is enough.
func TestAHubThatHasTheClusterAlready(t *testing.T) {
	for _, create := range []error{nil, forbidden()} {
		out, here, dialled, err := registers(t, create, importSecret())
		require.NoError(t, err)
		require.Empty(t, out.Attention)
		require.Equal(t, [2]string{"the-authority", "the-token"}, *dialled)
		cm := &corev1.ConfigMap{}
		require.NoError(t, here.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "import"}, cm))
		require.Equal(t, "b", cm.Annotations["a"])
	}
}

func TestAHubWithoutAnImportSecretIsTold(t *testing.T) {
	out, _, _, err := registers(t, nil)
	require.NoError(t, err)
	require.Contains(t, out.Attention, "waiting for the hub to make the import Secret store-17/store-17-import")
	out, _, _, err = registers(t, forbidden())
	require.NoError(t, err)
	require.Contains(t, out.Attention, "it may read Secrets alone", "why there is none is told too")
	out, _, _, err = registers(t, errors.New("connection refused"), importSecret())
	require.NoError(t, err)
	require.Contains(t, out.Attention, "connection refused")
}
