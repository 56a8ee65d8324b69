package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
