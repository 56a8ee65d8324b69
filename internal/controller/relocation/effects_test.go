package relocation

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	v1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
	"github.com/lifecycle-agent/lifecycle-agent/test/effects"
)

// A ClusterRelocation is read into a SiteConfig, whose fields act (TestEveryFieldOfASiteHasAnEffect). Each of its fields alone changes
// that, or is refused by its name where it is no value of its kind.
func TestEveryFieldOfARelocationIsTheSites(t *testing.T) {
	fields := effects.Fields(reflect.TypeFor[v1beta1.ClusterRelocationSpec](), reflect.TypeFor[runtime.RawExtension]())
	require.Greater(t, len(fields), 15)
	bare := func() *v1beta1.ClusterRelocation { // a port says nothing without its host
		return &v1beta1.ClusterRelocation{Spec: v1beta1.ClusterRelocationSpec{RegistryCert: &v1beta1.RegistryCert{RegistryHostname: "r"}}}
	}
	empty, _, err := decodeObject(bare())
	require.NoError(t, err)
	for _, f := range fields {
		o := bare()
		if f.Path == "acmRegistration.klusterletAddonConfig" {
			o.Spec.ACMRegistration = &v1beta1.ACMRegistration{KlusterletAddonConfig: &runtime.RawExtension{Raw: []byte(`{"a":"b"}`)}}
		} else {
			require.NoError(t, effects.Plant(reflect.ValueOf(&o.Spec).Elem(), f.Path))
		}
		got, problems, err := decodeObject(o)
		require.NoError(t, err, f.Path)
		refused := slices.ContainsFunc(problems, func(p siteconfig.Problem) bool { return p.Key == "spec."+f.Path })
		require.True(t, refused || !reflect.DeepEqual(empty, got), "%s is read and dropped", f.Path)
	}
}
