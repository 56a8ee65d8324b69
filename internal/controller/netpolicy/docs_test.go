package netpolicy

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// The policies that the page shows are ones that the API server and the nodes take.
func TestThePoliciesOfThePageAreValid(t *testing.T) {
	page, err := os.ReadFile("../../../docs/network-policies.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```yaml\n(apiVersion: nmstate.io/v1\n.*?)```").FindAllSubmatch(page, -1)
	require.NotEmpty(t, shown)
	w := newWorld(t, 0)
	for _, block := range shown {
		policy := &nmstatev1.NodeNetworkConfigurationPolicy{}
		require.NoError(t, yaml.UnmarshalStrict(block[1], policy))
		document, err := netstate.Decode(policy.Spec.DesiredState.Raw)
		require.NoError(t, err, policy.Name)
		require.NoError(t, netstate.Validate(document), policy.Name)
		policy.Name += "-" + w.name
		policy.Spec.NodeSelector = map[string]string{"world": w.name}
		require.NoError(t, w.api.Create(t.Context(), policy))
		require.NoError(t, w.api.Delete(t.Context(), policy))
	}
}
