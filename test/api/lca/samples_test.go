package lca_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// Every sample can be applied as its comment says: the first to a server
// without an IPConfig, the others to an idle object on a cluster that fits.
func TestSamplesApply(t *testing.T) {
	clusters := map[string]string{
		"lca_v1_ipconfig.yaml":            "",
		"lca_v1_ipconfig_ipv4.yaml":       ipv4Only,
		"lca_v1_ipconfig_ipv6.yaml":       ipv6Only,
		"lca_v1_ipconfig_vlan.yaml":       ipv4Only,
		"lca_v1_ipconfig_dual_stack.yaml": dualStack,
	}
	samples, err := filepath.Glob("../../../config/samples/lca_v1_ipconfig*.yaml")
	require.NoError(t, err)
	require.Len(t, samples, len(clusters), "a sample is not covered by this test")
	for _, sample := range samples {
		t.Run(filepath.Base(sample), func(t *testing.T) {
			cluster, known := clusters[filepath.Base(sample)]
			require.True(t, known, "the sample is not covered by this test")
			server := newSingleton(t)
			if cluster != "" {
				server.mustCreate(t, `{stage: Idle}`)
				server.observe(t, cluster)
			}
			requireApplies(t, server, sample)
		})
	}
}

// requireApplies applies a file by server-side apply, strictly, so that a
// misspelled field is an error.
func requireApplies(t *testing.T, server singleton, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(data, &lcav1.IPConfig{}))
	data, err = yaml.YAMLToJSON(data)
	require.NoError(t, err)
	require.NoError(t, server.Client.Patch(context.Background(), named(), client.RawPatch(types.ApplyPatchType, data),
		client.FieldOwner("sample"), client.ForceOwnership, client.FieldValidation("Strict")))
}
