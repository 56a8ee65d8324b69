package kube_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
)

var shared = apitest.New(apitest.Options{CRDs: []string{"lca.*.yaml"}})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// clients are both ways to the same API server: they promise the same.
func clients(t *testing.T) map[string]kube.Client {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	server := shared.Server(t)
	connection, err := kube.Connect(server.Config, server.Scheme)
	require.NoError(t, err)
	return map[string]kube.Client{"connection": connection, "controller-runtime": runtimeclient.NewClient(server.Client)}
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"of": name}}, Data: data}
}

func TestAnObjectIsCreatedReadChangedAndDeleted(t *testing.T) {
	for name, api := range clients(t) {
		t.Run(name, func(t *testing.T) {
			object := configMap("life-"+strings.ToLower(name), map[string]string{"a": "1"})
			require.NoError(t, api.Create(t.Context(), object))
			require.NotEmpty(t, object.ResourceVersion, "the server's answer is in the object")
			require.True(t, apierrors.IsAlreadyExists(api.Create(t.Context(), configMap(object.Name, nil))))

			stale := object.DeepCopy()
			object.Data = map[string]string{"b": "2"}
			require.NoError(t, api.Update(t.Context(), object))
			require.NotEqual(t, stale.ResourceVersion, object.ResourceVersion)
			require.True(t, apierrors.IsConflict(api.Update(t.Context(), stale)))

			read := configMap("another", map[string]string{"of": "before"})
			require.NoError(t, api.Get(t.Context(), kube.KeyOf(object), read))
			require.Equal(t, map[string]string{"b": "2"}, read.Data)

			require.NoError(t, api.Delete(t.Context(), object))
			require.True(t, apierrors.IsNotFound(api.Get(t.Context(), kube.KeyOf(object), read)))
			require.True(t, apierrors.IsNotFound(api.Delete(t.Context(), object)))
		})
	}
}

func TestListsAreNarrowed(t *testing.T) {
	for name, api := range clients(t) {
		t.Run(name, func(t *testing.T) {
			names := []string{"list-a-" + name, "list-b-" + name}
			for _, one := range names {
				object := configMap(one, map[string]string{"a": "1"})
				require.NoError(t, api.Create(t.Context(), object))
				t.Cleanup(func() { _ = api.Delete(context.Background(), object) })
			}
			first := kube.Selection{Labels: labels.SelectorFromSet(labels.Set{"of": names[0]})}
			var typed corev1.ConfigMapList
			require.NoError(t, api.List(t.Context(), &typed, first))
			require.Len(t, typed.Items, 1)
			require.Equal(t, map[string]string{"a": "1"}, typed.Items[0].Data)
			require.NoError(t, api.List(t.Context(), &typed, first, kube.Selection{Namespace: "kube-system"}))
			require.Empty(t, typed.Items)

			kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"}
			untyped := &unstructured.UnstructuredList{}
			untyped.SetGroupVersionKind(kind)
			require.NoError(t, api.List(t.Context(), untyped, first))
			require.Len(t, untyped.Items, 1)
			require.Equal(t, "ConfigMap", untyped.Items[0].GetKind())

			part := &metav1.PartialObjectMetadataList{}
			part.SetGroupVersionKind(kind)
			require.NoError(t, api.List(t.Context(), part, first))
			require.Len(t, part.Items, 1)
			require.Equal(t, names[0], part.Items[0].Name)
			one := &metav1.PartialObjectMetadata{}
			one.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
			require.NoError(t, api.Get(t.Context(), kube.Key{Namespace: "default", Name: names[1]}, one))
			require.Equal(t, names[1], one.Labels["of"])
		})
	}
}

func TestAKindThatIsNotServed(t *testing.T) {
	for name, api := range clients(t) {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []schema.GroupVersionKind{
				{Group: "example.org", Version: "v1", Kind: "Nothing"}, {Version: "v1", Kind: "Nothing"}, {Group: "apps", Version: "v0", Kind: "Deployment"},
			} {
				object := &unstructured.Unstructured{}
				object.SetGroupVersionKind(kind)
				err := api.Get(t.Context(), kube.Key{Namespace: "default", Name: "a"}, object)
				require.True(t, meta.IsNoMatchError(err), "%s: %v", kind, err)
				_, err = api.IsNamespaced(object)
				require.True(t, meta.IsNoMatchError(err), "%s: %v", kind, err)
			}
		})
	}
}

func TestWhichKindsAreInANamespace(t *testing.T) {
	for name, api := range clients(t) {
		t.Run(name, func(t *testing.T) {
			yes, err := api.IsNamespaced(&corev1.ConfigMap{})
			require.NoError(t, err)
			require.True(t, yes)
			no, err := api.IsNamespaced(&corev1.Node{})
			require.NoError(t, err)
			require.False(t, no)
			node := &corev1.Node{}
			require.True(t, apierrors.IsNotFound(api.Get(t.Context(), kube.Key{Namespace: "ignored", Name: "missing"}, node)))
		})
	}
}

func TestAnApplyTakesFieldsOver(t *testing.T) {
	for name, api := range clients(t) {
		t.Run(name, func(t *testing.T) {
			theirs := configMap("apply-"+name, map[string]string{"a": "theirs", "b": "theirs"})
			require.NoError(t, api.Create(t.Context(), theirs))
			t.Cleanup(func() { _ = api.Delete(context.Background(), theirs) })
			ours := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"a": "ours"}}}
			ours.SetAPIVersion("v1")
			ours.SetKind("ConfigMap")
			ours.SetNamespace("default")
			ours.SetName(theirs.Name)
			require.NoError(t, api.Apply(t.Context(), ours, "manager"))
			data, _, err := unstructured.NestedStringMap(ours.Object, "data")
			require.NoError(t, err)
			require.Equal(t, map[string]string{"a": "ours", "b": "theirs"}, data)
			require.Contains(t, ours.GetManagedFields()[0].Manager+ours.GetManagedFields()[1].Manager, "manager")
		})
	}
}

func TestAStatusIsChangedByItself(t *testing.T) {
	for name, api := range clients(t) {
		t.Run(name, func(t *testing.T) {
			ipc := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}, Spec: lcav1.IPConfigSpec{Stage: lcav1.StageIdle}}
			require.NoError(t, api.Create(t.Context(), ipc))
			t.Cleanup(func() { _ = api.Delete(context.Background(), ipc) })
			ipc.Status.ObservedGeneration = 7
			require.NoError(t, api.UpdateStatus(t.Context(), ipc))
			var read lcav1.IPConfig
			require.NoError(t, api.Get(t.Context(), kube.KeyOf(ipc), &read))
			require.EqualValues(t, 7, read.Status.ObservedGeneration)
		})
	}
}
