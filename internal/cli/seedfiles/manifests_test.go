package seedfiles

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const (
	seedImage = "registry.example.com/seeds/sno:4.20.3"
	goodAuth  = `{"auths":{"registry.example.com":{}}}`
)

// run executes "seed secret ARGS" with these files, and returns what it prints.
func run(t *testing.T, inputs map[string]string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := Command(Wiring{Out: &out, ReadInput: func(path string) ([]byte, error) {
		if text, ok := inputs[path]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
	}})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"secret"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
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
	inputs := map[string]string{"auth.json": goodAuth, "hub": "kind: Config\nclusters: [{name: hub}]\n"}
	out, err := run(t, inputs, "--seed-image", seedImage, "--authfile", "auth.json", "--hub-kubeconfig", "hub", "--recert-image", "r/recert:v0")
	require.NoError(t, err)
	objects := documents(t, out)
	require.Len(t, objects, 2)
	data := objects[0]["data"].(map[string]any)
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte(inputs["auth.json"])), data["seedAuth"])
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte(inputs["hub"])), data["hubKubeconfig"])
	require.Equal(t, map[string]any{"seedImage": seedImage, "recertImage": "r/recert:v0"}, objects[1]["spec"])
}

func TestManifestsThatCouldNotWorkAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--seed-image " + seedImage + " --authfile manifest.json":                       "not a containers auth.json",
		"--seed-image " + seedImage + " --authfile good --hub-kubeconfig manifest.json": "not a kubeconfig",
		"--seed-image r/seed@sha256:00 --authfile good":                                 "has a digest",
		"--seed-image " + seedImage + " --authfile good --signing-key manifest.json":    "manifest.json: ",
	} {
		out, err := run(t, map[string]string{"good": goodAuth, "manifest.json": "{}"}, strings.Fields(args)...)
		require.ErrorContains(t, err, want)
		require.Empty(t, out, "nothing that could be applied is printed")
	}
}
