package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestKrewGetsEveryPlatform with the checksum of its archive and a version as krew wants it.
func TestKrewGetsEveryPlatform(t *testing.T) {
	out := t.TempDir()
	require.ErrorContains(t, writeKrew(out, "v1.2.3", "https://example.test/v1.2.3"), "no archive of kubectl-lca")
	for _, name := range []string{"kubectl-lca-linux-amd64.tar.gz", "kubectl-lca-darwin-arm64.tar.gz", "kubectl-lca-windows-amd64.tar.gz",
		"install-ipam.yaml"} {
		require.NoError(t, os.WriteFile(filepath.Join(out, name), []byte("x"), 0o600))
	}
	require.NoError(t, writeKrew(out, "v1.2.3", "https://example.test/v1.2.3"))
	text, err := os.ReadFile(filepath.Join(out, "lca.yaml"))
	require.NoError(t, err)
	var p plugin
	require.NoError(t, yaml.UnmarshalStrict(text, &p))
	require.Equal(t, "lca", p.Metadata["name"])
	require.Equal(t, "v1.2.3", p.Spec.Version)
	require.Len(t, p.Spec.Platforms, 3)
	require.Equal(t, map[string]string{"os": "darwin", "arch": "arm64"}, p.Spec.Platforms[0].Selector["matchLabels"])
	require.Equal(t, "kubectl-lca", p.Spec.Platforms[0].Bin)
	require.Equal(t, "kubectl-lca.exe", p.Spec.Platforms[2].Bin)
	require.Equal(t, "https://example.test/v1.2.3/kubectl-lca-darwin-arm64.tar.gz", p.Spec.Platforms[0].URI)
	require.Equal(t, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", p.Spec.Platforms[0].SHA256)
}

func TestVersionsAreMadeSemantic(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-4-gabc": "1.2.3-4-gabc", "e37dd23": "0.0.0-ge37dd23",
		"e37dd23-dirty": "0.0.0-ge37dd23-dirty", "unknown": "0.0.0-gunknown"} {
		require.Equal(t, want, semver(version), version)
	}
}

// TestThePageOfAReleaseIsItsSection of the changelog, or what is not released yet.
func TestThePageOfAReleaseIsItsSection(t *testing.T) {
	dir := t.TempDir()
	changelog := filepath.Join(dir, "CHANGELOG.md")
	require.NoError(t, os.WriteFile(changelog, []byte("# Changelog\n\n## Unreleased\n\n- new\n\n## 1.2.3 (2026-01-02)\n\n- old\n"), 0o600))
	for version, want := range map[string]string{"v1.2.3": "- old", "abc": "- new"} {
		require.NoError(t, writeNotes(changelog, version, dir))
		text, err := os.ReadFile(filepath.Join(dir, "NOTES.md"))
		require.NoError(t, err)
		require.Contains(t, string(text), want)
	}
	require.NoError(t, os.WriteFile(changelog, []byte("# Changelog\n"), 0o600))
	require.ErrorContains(t, writeNotes(changelog, "v1.2.3", dir), "has no section 1.2.3")
	require.NoError(t, writeNotes("../../CHANGELOG.md", "v0.0.1", dir))
}
