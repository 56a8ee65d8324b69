package caches

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/features"
)

func TestFillByListTurnsOneFeatureOff(t *testing.T) {
	before := features.FeatureGates()
	t.Cleanup(func() { features.ReplaceFeatureGates(before) })
	require.True(t, before.Enabled(features.WatchListClient), "were it off, there would be nothing to do")
	FillByList()
	require.False(t, features.FeatureGates().Enabled(features.WatchListClient))
	for _, other := range []features.Feature{features.InformerResourceVersion, features.ClientsAllowCBOR} {
		require.Equal(t, before.Enabled(other), features.FeatureGates().Enabled(other), other)
	}
}
