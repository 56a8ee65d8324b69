package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShipped(t *testing.T) {
	const otherProfile = includePrefix + "ibm-cloud-managed"
	for name, tt := range map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"nothing said":           {nil, true},
		"default feature set":    {map[string]string{featureSet: "Default"}, true},
		"one of several":         {map[string]string{featureSet: "OKD,Default"}, true},
		"another feature set":    {map[string]string{featureSet: "DevPreviewNoUpgrade"}, false},
		"self-managed":           {map[string]string{selfManagedHA: "true", otherProfile: "true"}, true},
		"only of another's":      {map[string]string{otherProfile: "true"}, false},
		"right profile, not set": {map[string]string{selfManagedHA: "true", featureSet: "TechPreviewNoUpgrade"}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, shipped(tt.annotations)) })
	}
}

func TestLoadCRDsChoosesOneOfEachName(t *testing.T) {
	src, err := findSources(t.Context(), "../..")
	if err != nil {
		t.Skipf("reason: the OpenShift API module is not in the module cache: %v", err)
	}
	crds, err := loadCRDs(src.crds)
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
