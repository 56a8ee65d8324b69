package ipam

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// A pool whose quarantine cannot be read, stored before admission refused it, is invalid by itself: other pools are served, and so
// they are after a restart.
func TestPoolThatCannotBeReadDegradesItselfAlone(t *testing.T) {
	w := newWorld(t)
	w.pool("good", between(1, 9))
	first := w.start()
	w.claim("before", "good")
	w.address("before")
	w.admitAny("quarantine", func() {
		bad := &metal3.IPPool{ObjectMeta: w.meta("bad"), Spec: metal3.IPPoolSpec{NamePrefix: "bad", Network: w.network, Quarantine: "1d"}}
		between(20, 29)(&bad.Spec)
		w.eventually(func() bool { return w.api.Create(context.Background(), bad) == nil }, "the pool is stored")
	})
	require.Contains(t, w.poolReason("bad", metal3.ReasonInvalid), `quarantine: "1d" is not a duration`)
	w.claim("while", "good")
	w.address("while")
	w.claim("refused", "bad")
	w.reason("refused", metal3.ReasonPoolNotReady)
	first.stop()
	w.start()
	w.claim("after", "good")
	w.address("after")
}

// admitAny lets the API server store any text in a field of a pool while a function runs.
func (w *world) admitAny(field string, do func()) {
	w.t.Helper()
	replace := func(rules apiextensionsv1.ValidationRules) (was apiextensionsv1.ValidationRules) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(w.t, w.definitions().Get(context.Background(), types.NamespacedName{Name: "ippools.ipam.metal3.io"}, crd))
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		schema := spec.Properties[field]
		was, schema.XValidations = schema.XValidations, rules
		spec.Properties[field] = schema
		require.NoError(w.t, w.definitions().Update(context.Background(), crd))
		return was
	}
	was := replace(nil)
	defer replace(was)
	do()
}

// definitions is a client for CustomResourceDefinitions.
func (w *world) definitions() client.Client {
	w.t.Helper()
	scheme := runtime.NewScheme() // the server's is in use
	require.NoError(w.t, apiextensionsv1.AddToScheme(scheme))
	c, err := client.New(w.server.Config, client.Options{Scheme: scheme})
	require.NoError(w.t, err)
	return c
}
