package metal3_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

var shared = apitest.New(apitest.Options{
	CRDs:        []string{"ipam.*.yaml", apitest.CAPIClaims},
	AddToScheme: []func(*runtime.Scheme) error{metal3.AddToScheme, capi.AddToScheme, lockv1.AddToScheme},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// server is the API server with the admission policy in force.
func server(t *testing.T) *apitest.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	s := shared.Server(t)
	s.Apply(t, "config/admission/ippools.yaml")
	require.Eventually(t, func() bool {
		err := s.Client.Create(t.Context(), object(t, "IPPool", "never", `{namePrefix: x, pools: [{start: 192.0.2.9, end: 192.0.2.1}]}`), client.DryRunAll)
		return err != nil
	}, time.Minute, 50*time.Millisecond, "the policy comes into force")
	return s
}

// object is one of metal3's kinds with the spec, given as YAML.
func object(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(metal3.GroupVersion.WithKind(kind))
	o.SetNamespace("default")
	o.SetName(name)
	var fields map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(spec), &fields))
	o.Object["spec"] = fields
	return o
}

// make creates an object for the time of the test.
func create(t *testing.T, s *apitest.Server, o client.Object) {
	t.Helper()
	require.NoError(t, s.Client.Create(t.Context(), o))
	t.Cleanup(func() {
		_ = s.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"status":{"used":0}}`)))
		_ = s.Client.Delete(t.Context(), o)
	})
}

// refusedWith requires that the server refuses, in words that contain all of these.
func refusedWith(t *testing.T, err error, words ...string) {
	t.Helper()
	require.Error(t, err, "accepted, but should be refused: %s", strings.Join(words, " … "))
	for _, w := range words {
		require.ErrorContains(t, err, w)
	}
}
