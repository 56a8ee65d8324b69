package objects

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
