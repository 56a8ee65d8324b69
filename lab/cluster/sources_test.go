package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/objects"
)

func TestLoadCRDsChoosesOneOfEachName(t *testing.T) {
	src, err := findSources(t.Context(), "../..")
	if err != nil {
		t.Skipf("reason: the OpenShift API module is not in the module cache: %v", err)
	}
	crds, err := objects.LoadCRDs(src.crds)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, crd := range crds {
		require.False(t, seen[crd.Name], crd.Name)
		seen[crd.Name] = true
	}
	for _, want := range []string{"clusterversions.config.openshift.io", "clusteroperators.config.openshift.io", "infrastructures.config.openshift.io",
		"machineconfigs.machineconfiguration.openshift.io", "machineconfigpools.machineconfiguration.openshift.io",
		"kubeapiservers.operator.openshift.io", "ipconfigs.lca.openshift.io"} {
		require.True(t, seen[want], want)
	}
}
