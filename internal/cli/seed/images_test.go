package seed_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// published is a console whose node has published an image.
func published(t *testing.T) *terminal {
	t.Helper()
	c := newTerminal(t)
	require.NoError(t, c.run(t, "create", "--image", seedImage, "--manifest", "manifest.json"))
	c.out.Reset()
	return c
}

func TestAnImageIsInspected(t *testing.T) {
	c := published(t)
	require.NoError(t, c.run(t, "inspect", seedImage, "--images", "-o", "json"))
	var i cli.Inspection
	require.NoError(t, json.Unmarshal(c.out.Bytes(), &i))
	require.Equal(t, "given.example.org", i.Cluster.BaseDomain)
	require.Contains(t, i.Images, "quay.io/team/app:1")
	require.True(t, strings.HasPrefix(i.Digest, "sha256:"))
	require.Greater(t, len(i.Layers), 10)
	c.out.Reset()
	require.NoError(t, c.run(t, "inspect", seedImage))
	require.Contains(t, c.out.String(), "var.tgz")
	require.ErrorIs(t, c.run(t, "inspect", "registry.example.com/seeds/sno:absent"), host.ErrNoImage)
}

func TestAnImageIsVerified(t *testing.T) {
	c := published(t)
	require.NoError(t, c.run(t, "verify", seedImage))
	require.Contains(t, c.out.String(), "whole and usable")
	c.registry.Fail = func(request string) error {
		if request == "get blob" {
			return host.ErrRegistryAway
		}
		return nil
	}
	require.ErrorIs(t, c.run(t, "verify", seedImage), host.ErrRegistryAway)
}
