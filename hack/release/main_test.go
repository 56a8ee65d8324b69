package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

var shared = apitest.New(apitest.Options{OpenShiftCRDs: []string{"securitycontextconstraints.security.openshift.io"}})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

const image = "example.test:5000/lifecycle-agent@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func objects(t *testing.T, file string) (all []*unstructured.Unstructured) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.UnmarshalStrict(document, &o.Object))
		all = append(all, o)
	}
	require.NotEmpty(t, all)
	return all
}

// TestEveryFileApplies has a real API server take each file, in its order, without a field that it does not know: server-side apply refuses
// those of every kind that has a schema.
func TestEveryFileApplies(t *testing.T) {
	server := shared.Server(t)
	defineMonitoring(t, server)
	out := t.TempDir()
	require.NoError(t, run("../../config", image, out))
	for file := range manifests {
		t.Run(file, func(t *testing.T) {
			for _, o := range objects(t, filepath.Join(out, file)) {
				err := server.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o),
					client.FieldOwner("test"), client.ForceOwnership)
				require.NoError(t, err, "%s %s", o.GetKind(), o.GetName())
			}
		})
	}
}

// defineMonitoring has the server take the kinds of the Prometheus operator, which OpenShift has. Their fields are held against that
// operator's types by the tests of config.
func defineMonitoring(t *testing.T, server *apitest.Server) {
	t.Helper()
	group := schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}
	for kind, plural := range map[string]string{"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"} {
		free := true
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group.Group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: group.Group, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: plural},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: group.Version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", XPreserveUnknownFields: &free}}}},
			}}
		require.NoError(t, server.Client.Create(t.Context(), crd))
		require.Eventually(t, func() bool {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(group.WithKind(kind + "List"))
			return server.Client.List(t.Context(), list) == nil
		}, 3*time.Minute, 100*time.Millisecond, kind)
	}
}

// TestWhatIsReleasedIsPinned: after a change of the address no registry may be reachable.
func TestWhatIsReleasedIsPinned(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, run("../../config", image, out))
	for file := range manifests {
		containers := 0
		for _, o := range objects(t, filepath.Join(out, file)) {
			pods, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			require.NoError(t, err)
			for _, c := range pods {
				containers++
				require.Equal(t, image, c.(map[string]any)["image"], file)
				require.Equal(t, "IfNotPresent", c.(map[string]any)["imagePullPolicy"], file)
			}
			if file == "components.yaml" {
				require.Equal(t, "ipam-lifecycle-agent", o.GetLabels()["cluster.x-k8s.io/provider"], "%s %s", o.GetKind(), o.GetName())
			}
		}
		require.NotZero(t, containers, file)
	}
	require.FileExists(t, filepath.Join(out, "metadata.yaml"))
}

func TestAPlainClusterHasNoSecurityContextConstraints(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, run("../../config", image, out))
	for _, file := range []string{"install-kubernetes.yaml", "install-ipam.yaml", "components.yaml"} {
		for _, o := range objects(t, filepath.Join(out, file)) {
			require.NotEqual(t, "lifecycle-agent-node-privileged", o.GetName(), "%s: %s", file, o.GetKind())
		}
	}
}

func TestAnImageNeedsATagOrDigest(t *testing.T) {
	for _, name := range []string{"", "lifecycle-agent", "registry.test:5000/lifecycle-agent"} {
		_, err := parseImage(name)
		require.Error(t, err, name)
	}
	parsed, err := parseImage("registry.test:5000/lifecycle-agent:v1")
	require.NoError(t, err)
	require.Equal(t, "registry.test:5000/lifecycle-agent", parsed.NewName)
	require.Equal(t, "v1", parsed.NewTag)
}

// TestALoopOfTheRecipesStopsAtTheFirstFailure: the status of a loop of the shell is that of its last turn, so a release would lack, say, the
// SBOM of the first program unnoticed.
func TestALoopOfTheRecipesStopsAtTheFirstFailure(t *testing.T) {
	text, err := os.ReadFile("release.mk")
	require.NoError(t, err)
	require.Positive(t, bytes.Count(text, []byte("; done")))
	require.Equal(t, bytes.Count(text, []byte("; done")), bytes.Count(text, []byte(" || exit; done")))
}
