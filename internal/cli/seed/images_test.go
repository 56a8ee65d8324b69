package seed_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

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

// documents are the objects of a stream of YAML.
func documents(t *testing.T, text string) (out []map[string]any) {
	t.Helper()
	for _, part := range strings.Split(text, "---\n")[1:] {
		var o map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(part), &o))
		out = append(out, o)
	}
	return out
}

func TestTheManifestsOfARequest(t *testing.T) {
	c := newTerminal(t)
	c.inputs["auth.json"] = `{"auths":{"registry.example.com":{}}}`
	c.inputs["hub"] = "kind: Config\nclusters: [{name: hub}]\n"
	require.NoError(t, c.run(t, "secret", "--seed-image", seedImage, "--authfile", "auth.json", "--hub-kubeconfig", "hub", "--recert-image", "r/recert:v0"))
	objects := documents(t, c.out.String())
	require.Len(t, objects, 2)
	data := objects[0]["data"].(map[string]any)
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte(c.inputs["auth.json"])), data["seedAuth"])
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte(c.inputs["hub"])), data["hubKubeconfig"])
	require.Equal(t, map[string]any{"seedImage": seedImage, "recertImage": "r/recert:v0"}, objects[1]["spec"])
}

func TestManifestsThatCouldNotWorkAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--seed-image " + seedImage + " --authfile manifest.json":                       "not a containers auth.json",
		"--seed-image " + seedImage + " --authfile good --hub-kubeconfig manifest.json": "not a kubeconfig",
		"--seed-image r/seed@sha256:00 --authfile good":                                 "has a digest",
		"--seed-image " + seedImage + " --authfile good --signing-key manifest.json":    "manifest.json: ",
	} {
		c := newTerminal(t)
		c.inputs["good"] = `{"auths":{"registry.example.com":{}}}`
		err := c.run(t, append([]string{"secret"}, strings.Fields(args)...)...)
		require.ErrorContains(t, err, want)
		require.Empty(t, c.out.String(), "nothing that could be applied is printed")
	}
}
