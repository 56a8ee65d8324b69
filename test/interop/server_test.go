//go:build interop

package interop

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

var shared = apitest.New(apitest.Options{
	CRDs:          []string{"ipam.*.yaml", "lca.openshift.io_*.yaml", apitest.CAPIClaims, apitest.Nmstate},
	OpenShiftCRDs: []string{"machines.machine.openshift.io", "machinesets.machine.openshift.io"},
	AddToScheme:   []func(*runtime.Scheme) error{metal3.AddToScheme, capi.AddToScheme, lockv1.AddToScheme},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// deadline is generous: the machine may be busy with everything else.
const (
	deadline = 3 * time.Minute
	tick     = 50 * time.Millisecond
)

// strict refuses fields that a definition does not know.
func strict(s *apitest.Server) client.Client {
	return client.WithFieldValidation(s.Client, metav1.FieldValidationStrict)
}

// install installs definitions of another project and waits until they are served.
func install(t testing.TB, s *apitest.Server, texts ...[]byte) {
	t.Helper()
	for _, text := range texts {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, yaml.Unmarshal(text, crd))
		crd.Spec.Conversion = nil // its webhook does not run here
		err := s.Client.Create(t.Context(), crd)
		require.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
		for _, v := range crd.Spec.Versions {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.ListKind})
			require.Eventually(t, func() bool { return !v.Served || s.Client.List(context.Background(), list) == nil }, deadline, tick,
				"%s %s is served", crd.Name, v.Name)
		}
	}
}
