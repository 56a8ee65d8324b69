package siteconfig_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Whatever a file holds: no panic, and what is accepted is accepted again as it was read.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"../full.yaml", "manifest.json", "cluster-relocation.yaml"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(header + "hostname: &a [*a]"))
	f.Add([]byte("\xff\xfea\x00:\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, problems := siteconfig.Decode(data)
		if len(problems) > 0 {
			return
		}
		text, err := yaml.Marshal(c)
		require.NoError(t, err)
		again, problems := siteconfig.Decode(text)
		require.Empty(t, problems)
		require.Equal(t, c.Hostname, again.Hostname)
	})
}

func FuzzDecodeManifests(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = siteconfig.DecodeManifests(data) })
}
