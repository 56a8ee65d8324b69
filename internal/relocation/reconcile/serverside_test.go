package reconcile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
)

func namespaceRef(name string) Ref { return Ref{Version: "v1", Kind: "Namespace", Name: name} }

// TestAManifestIsMergedByItsFields: what a manifest says is so, whatever it is about, and what it does not say stays.
func TestAManifestIsMergedByItsFields(t *testing.T) {
	w := newWorld(t)
	existing := w.create(`{apiVersion: v1, kind: Namespace, metadata: {name: merged, labels: {team: a}}}`)
	settings := w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: merged}, data: {others: x, only: old}}`)
	service := w.create(`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: merged},
spec: {ports: [{name: http, port: 80}], selector: {app: web}}}`)
	made := namespaceRef("merged-new")
	w.remove(made)
	w.wants(`
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: merged}, spec: {ports: [{name: https, port: 443, protocol: TCP}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: merged, finalizers: [example.org/keep], annotations: {reloader: "true"}}, data: {only: this}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: merged, annotations: {a: "1"}, labels: {openshift.io/cluster-monitoring: "true"}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: merged-new, annotations: {workload.openshift.io/allowed: management}, labels: {pod-security.kubernetes.io/enforce: privileged}}}
`)
	require.Len(t, w.settle().Changed, 4)

	ns := w.read(existing)
	require.Equal(t, "1", ns.GetAnnotations()["a"])
	require.Equal(t, "true", ns.GetLabels()["openshift.io/cluster-monitoring"])
	require.Equal(t, "a", ns.GetLabels()["team"])
	cm := w.read(settings)
	require.Equal(t, map[string]string{"others": "x", "only": "this"}, w.data(settings))
	require.Equal(t, []string{"example.org/keep"}, cm.GetFinalizers())
	require.Equal(t, "true", cm.GetAnnotations()["reloader"])
	ports, _, err := unstructured.NestedSlice(w.read(service).Object, "spec", "ports")
	require.NoError(t, err)
	require.Len(t, ports, 2, "a list with keys is merged entry by entry")
	created := w.read(made)
	require.Equal(t, "management", created.GetAnnotations()["workload.openshift.io/allowed"])
	require.Equal(t, "privileged", created.GetLabels()["pod-security.kubernetes.io/enforce"])
	require.Equal(t, "true", created.GetLabels()[Marker], "what the product made is marked")
	require.NotContains(t, ns.GetLabels(), Marker)
}

func TestWhatIsInPlaceIsNotAppliedAgain(t *testing.T) {
	w := newWorld(t)
	w.remove(configMapRef("default", "again"), secretRef("default", "again"))
	w.wants(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: again, namespace: default}, data: {a: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: again, namespace: default}, stringData: {a: b}}
`)
	w.settle()
	refs := []Ref{configMapRef("default", "again"), secretRef("default", "again"), secretRef(LedgerNamespace, LedgerName)}
	before := map[Ref]string{}
	for _, ref := range refs {
		before[ref] = w.read(ref).GetResourceVersion()
	}
	for range 2 {
		require.Empty(t, w.settle().Changed)
	}
	for _, ref := range refs {
		require.Equal(t, before[ref], w.read(ref).GetResourceVersion(), ref.String())
	}
}

// TestOneObjectThatFailsHoldsNoOtherUp: each object is tried by itself, and all that is wrong is told at once.
func TestOneObjectThatFailsHoldsNoOtherUp(t *testing.T) {
	w := newWorld(t)
	good, late := configMapRef("default", "good"), namespaceRef("listed-late")
	early := configMapRef("listed-late", "early")
	crd := Ref{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Name: "tills.shop.example.org"}
	w.remove(good, early, late, crd)
	w.wants(`
{apiVersion: shop.example.org/v1, kind: Till, metadata: {name: one, namespace: default}, spec: {size: 1}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: early, namespace: listed-late}, data: {a: b}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: typo, namespace: default}, spec: {replica: 1}}
---
{apiVersion: v1, kind: Service, metadata: {name: invalid, namespace: default}, spec: {ports: [{port: 99999}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: wrong, namespace: default}, type: kubernetes.io/tls, data: {tls.crt: planted-in-a-secret}}
---
{apiVersion: v1, kind: Secret, metadata: {name: number, namespace: default}, stringData: {pin: 4711}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: nowhere}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, namespace: there-is-no-such}, data: {a: b}}
---
{apiVersion: nothing.example.org/v1, kind: Unknown, metadata: {name: x, annotations: {relocation.lca.openshift.io/required: "true"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: good, namespace: default}, data: {a: first}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: good, namespace: default}, data: {b: second}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: listed-late}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tills.shop.example.org}, spec: {group: shop.example.org, scope: Namespaced,
names: {kind: Till, listKind: TillList, plural: tills, singular: till},
versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}]}}
`)
	problems := w.fails()
	require.True(t, w.exists(early), "its namespace comes first")
	require.Equal(t, map[string]string{"a": "first"}, w.data(good))
	for name, refused := range map[string]bool{
		"deployment/default/typo": true, "service/default/invalid": true, "secret/default/wrong": true, "secret/default/number": true,
		"configmap/nowhere": true, "configmap/default/good": true,
		"configmap/there-is-no-such/orphan": false, "unknown/x": false,
	} {
		require.Contains(t, problems, name)
		require.Equal(t, refused, problems[name].Refused, problems[name].String())
	}
	require.Contains(t, problems["deployment/default/typo"].Reason, "replica")
	require.Contains(t, problems["configmap/nowhere"].Reason, "give metadata.namespace")
	require.Contains(t, problems["unknown/x"].Reason, "does not serve this kind")
	require.True(t, problems["unknown/x"].Required)
	for _, p := range problems {
		require.NotContains(t, p.Reason, "planted-in-a-secret")
		require.NotContains(t, p.Reason, "4711")
	}
	require.Eventually(t, func() bool { return w.fails()["till/default/one"].Reason == "" }, 2*time.Minute, 100*time.Millisecond,
		"a kind that the same manifests define is served a moment later")
}

// TestAConflictIsForced: what the site says is so, also where another manager has applied the field.
func TestAConflictIsForced(t *testing.T) {
	w := newWorld(t)
	ref := configMapRef("default", "contested")
	w.remove(ref)
	o := ref.newObject()
	o.Object["data"] = map[string]any{"a": "theirs", "b": "theirs"}
	require.NoError(t, w.api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("gitops")))
	w.wants(`{apiVersion: v1, kind: ConfigMap, metadata: {name: contested, namespace: default}, data: {a: ours}}`)
	w.settle()
	require.Equal(t, map[string]string{"a": "ours", "b": "theirs"}, w.data(ref))

	w.edit(ref, func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, "drifted", "data", "a") })
	out := w.settle()
	require.Equal(t, []string{"configmap/default/contested#"}, out.Drifted)
	require.Equal(t, "ours", w.data(ref)["a"])
}

// TestAnExportedObjectIsAManifest: what 'oc get -o yaml' adds is left out.
func TestAnExportedObjectIsAManifest(t *testing.T) {
	w := newWorld(t)
	w.remove(configMapRef("default", "exported"))
	w.wants(`{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: exported, namespace: default, resourceVersion: "1",
uid: 6a0e0e0e-0000-4000-8000-000000000000, generation: 3, creationTimestamp: "2020-01-01T00:00:00Z",
managedFields: [{manager: x, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {}}]}, data: {a: b}, status: {x: y}}]}`)
	w.settle()
	require.Equal(t, map[string]string{"a": "b"}, w.data(configMapRef("default", "exported")))
}

// TestAClusterWideObjectWithANamespace is taken as 'oc apply' takes it.
func TestAClusterWideObjectWithANamespace(t *testing.T) {
	w := newWorld(t)
	w.remove(Ref{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass", Name: "till"})
	w.wants(`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: till, namespace: default}, value: 7}`)
	w.settle()
	require.Empty(t, w.settle().Changed)
}

// TestWhatAManifestNoLongerSaysIsGivenBack: fields get their original, objects go, and later changes by others stay.
func TestWhatAManifestNoLongerSaysIsGivenBack(t *testing.T) {
	w := newWorld(t)
	settings := w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: given, namespace: default, annotations: {note: theirs}}, data: {a: theirs, b: theirs}}`)
	touched := w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: touched, namespace: default}, data: {a: theirs}}`)
	made, taken := configMapRef("default", "made"), configMapRef("default", "taken")
	w.remove(made, taken)
	w.wants(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: given, namespace: default, annotations: {note: ours, more: ours}}, data: {a: ours, c: ours}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: touched, namespace: default}, data: {a: ours}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: made, namespace: default}, data: {a: ours}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: taken, namespace: default}, data: {a: ours}}
`)
	w.settle()
	require.Equal(t, map[string]string{"a": "ours", "b": "theirs", "c": "ours"}, w.data(settings))
	w.edit(settings, func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, "later", "data", "d") })
	for _, ref := range []Ref{touched, taken} {
		w.edit(ref, func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, "later", "data", "a") })
	}
	w.wants("")
	require.Len(t, w.settle().Changed, 4)

	require.Equal(t, map[string]string{"a": "theirs", "b": "theirs", "d": "later"}, w.data(settings))
	require.Equal(t, map[string]string{"note": "theirs"}, w.read(settings).GetAnnotations())
	require.Equal(t, "later", w.data(touched)["a"])
	require.Equal(t, "later", w.data(taken)["a"])
	require.False(t, w.exists(made))
	for _, ref := range []Ref{settings, touched, taken} {
		for _, f := range w.read(ref).GetManagedFields() {
			require.NotEqual(t, Manager, f.Manager, "%s: no field of it is ours any more", ref)
		}
	}
	require.False(t, w.exists(secretRef(LedgerNamespace, LedgerName)))
}

// TestAFieldThatAManifestDropsIsRemoved: there is one field manager, so that the API server knows what is ours.
func TestAFieldThatAManifestDropsIsRemoved(t *testing.T) {
	w := newWorld(t)
	ref := secretRef("default", "shrinks")
	w.remove(ref)
	w.wants(`{apiVersion: v1, kind: Secret, metadata: {name: shrinks, namespace: default}, stringData: {a: b, c: d}}`)
	w.settle()
	w.wants(`{apiVersion: v1, kind: Secret, metadata: {name: shrinks, namespace: default}, stringData: {a: b}}`)
	w.settle()
	require.Equal(t, map[string]string{"a": "Yg=="}, w.data(ref))
}

// TestADeathBetweenAnObjectAndTheLedger: what was applied is given back, though the ledger does not say that it was.
func TestADeathBetweenAnObjectAndTheLedger(t *testing.T) {
	w := newWorld(t)
	settings := w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: dies, namespace: default}, data: {a: theirs}}`)
	made, foreign := configMapRef("default", "dies-new"), configMapRef("default", "dies-foreign")
	w.remove(made, foreign)
	w.wants(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: dies, namespace: default}, data: {a: ours}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: dies-new, namespace: default}, data: {a: ours}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: dies-foreign, namespace: default}, data: {a: ours}}
`)
	dead := errors.New("the process died")
	wrote := 0
	direct := w.r.Client
	w.r.Client = runtimeclient.NewClient(interceptor.NewClient(w.api, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if o.GetName() == LedgerName {
				return dead
			}
			return c.Update(ctx, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			wrote++
			return c.Create(ctx, o, opts...)
		},
	}))
	_, err := w.apply()
	require.ErrorIs(t, err, dead)
	require.Equal(t, 1, wrote, "the originals of all objects are written at once")
	require.Equal(t, "ours", w.data(settings)["a"])
	// One of them is in truth someone else's: ours went, and another one came.
	w.remove(foreign)
	require.NoError(t, w.api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: foreign.Namespace, Name: foreign.Name}, Data: map[string]string{"a": "foreign"}}))

	w.r.Client = direct
	kept, err := w.r.Revert(t.Context())
	require.NoError(t, err)
	require.Empty(t, strings.Join(kept, ", "))
	require.Equal(t, "theirs", w.data(settings)["a"])
	require.False(t, w.exists(made))
	require.True(t, w.exists(foreign), "what was not applied is not deleted")
}
