package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

func TestFlags(t *testing.T) {
	f, err := parse([]string{"--host-root", "/host", "--kubeconfig", "kc", "--metrics-bind-address", "0"})
	require.NoError(t, err)
	require.Equal(t, flags{hostRoot: "/host", kubeconfig: "kc", metrics: "0", probes: "127.0.0.1:9444"}, f)
	_, err = parse([]string{"--no-such-flag"})
	require.Error(t, err)
}

func TestRecertImage(t *testing.T) {
	shipped := func(name string) string { return map[string]string{"RELATED_IMAGE_RECERT_IMAGE": "shipped:1"}[name] }
	require.Equal(t, "shipped:1", recertImage(shipped))
	require.Equal(t, defaultRecertImage, recertImage(func(string) string { return "" }))
}

// TestNodeIsSeenBeneathTheHostRoot builds the ports over a folder that looks like a host's root.
func TestNodeIsSeenBeneathTheHostRoot(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "etc"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "etc", "only-here"), []byte("yes"), 0o600))
	n := newNode(root, flow.Discard())
	data, err := n.Files.Read("/etc/only-here")
	require.NoError(t, err)
	require.Equal(t, "yes", string(data))
	_, err = n.Network.Observe(t.Context())
	require.ErrorContains(t, err, root, "the host's bus, not the pod's")
	require.Nil(t, shippedCLI("/"), "on the node itself lca-cli is in place")
}
