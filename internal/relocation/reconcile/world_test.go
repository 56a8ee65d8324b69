package reconcile

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

var shared = apitest.New(apitest.Options{
	CRDs:        []string{apitest.Relocation},
	AddToScheme: []func(*runtime.Scheme) error{cluster.AddToScheme},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// world is an API server and the parts of a site over it.
type world struct {
	t    *testing.T
	api  client.WithWatch
	r    *Reconciler
	site siteconfig.SiteConfig
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	server := shared.Server(t)
	api, err := client.NewWithWatch(server.Config, client.Options{Scheme: server.Scheme})
	require.NoError(t, err)
	w := &world{t: t, api: api}
	direct, err := kube.Connect(server.Config, server.Scheme) // as on the node
	require.NoError(t, err)
	w.r = &Reconciler{Client: direct, Now: time.Now, Rand: rand.Reader}
	err = api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: LedgerNamespace}})
	require.NoError(t, client.IgnoreAlreadyExists(err))
	w.remove(secretRef(LedgerNamespace, LedgerName))
	return w
}

// remove deletes an object with its finalizers, now and when the test ends.
func (w *world) remove(refs ...Ref) {
	w.t.Helper()
	drop := func() {
		for _, ref := range refs {
			o := ref.newObject()
			if w.api.Get(context.Background(), client.ObjectKeyFromObject(o), o) != nil {
				continue
			}
			o.SetFinalizers(nil)
			_ = w.api.Update(context.Background(), o)
			_ = w.api.Delete(context.Background(), o)
		}
	}
	drop()
	w.t.Cleanup(drop)
}

// wants is a site with these manifests, YAML.
func (w *world) wants(manifests string) {
	w.t.Helper()
	list, err := splitDocuments([]byte(manifests))
	require.NoError(w.t, err)
	w.site = siteconfig.SiteConfig{Manifests: list}
}

func (w *world) apply() (Outcome, error) {
	w.t.Helper()
	part, found := Find("manifests")
	require.True(w.t, found)
	return w.r.Apply(w.t.Context(), part, w.site)
}

func (w *world) settle() Outcome {
	w.t.Helper()
	out, err := w.apply()
	require.NoError(w.t, err)
	return out
}

// fails applies, and returns the problems by object.
func (w *world) fails() map[string]ObjectProblem {
	w.t.Helper()
	_, err := w.apply()
	var all *ObjectsError
	require.ErrorAs(w.t, err, &all)
	out := map[string]ObjectProblem{}
	for _, p := range all.Problems {
		out[p.Ref.String()] = p
		require.Contains(w.t, err.Error(), p.String())
	}
	return out
}

func (w *world) read(ref Ref) *unstructured.Unstructured {
	w.t.Helper()
	o := ref.newObject()
	require.NoError(w.t, w.api.Get(w.t.Context(), client.ObjectKeyFromObject(o), o))
	return o
}

func (w *world) exists(ref Ref) bool {
	w.t.Helper()
	o := ref.newObject()
	err := w.api.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)
	require.True(w.t, err == nil || apierrors.IsNotFound(err), "%v", err)
	return err == nil
}

// create makes an object as someone else does, from YAML.
func (w *world) create(text string) Ref {
	w.t.Helper()
	list, err := splitDocuments([]byte(text))
	require.NoError(w.t, err)
	u := &unstructured.Unstructured{}
	require.NoError(w.t, json.Unmarshal(list[0], &u.Object))
	ref := changeOf(u.Object).Ref
	w.remove(ref)
	require.NoError(w.t, w.api.Create(w.t.Context(), u, client.FieldOwner("somebody")))
	return ref
}

// edit changes an object as someone else does.
func (w *world) edit(ref Ref, change func(o *unstructured.Unstructured)) {
	w.t.Helper()
	o := w.read(ref)
	change(o)
	require.NoError(w.t, w.api.Update(w.t.Context(), o, client.FieldOwner("somebody")))
}

func (w *world) data(ref Ref) map[string]string {
	w.t.Helper()
	data, _, err := unstructured.NestedStringMap(w.read(ref).Object, "data")
	require.NoError(w.t, err)
	return data
}
