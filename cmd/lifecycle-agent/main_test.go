package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller"
)

// execute runs the command line and returns what it would serve, and what it printed.
func execute(t *testing.T, args ...string) (role controller.Role, f flags, printed string, err error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newRootCommand(func(_ context.Context, r controller.Role, given flags) error {
		role, f = r, given
		return nil
	})
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	err = cmd.ExecuteContext(t.Context())
	return role, f, out.String(), err
}

func TestOperatorFlags(t *testing.T) {
	role, f, _, err := execute(t, "operator", "--controllers=ipam,-hostnet", "--webhook-certs=/certs")
	require.NoError(t, err)
	require.Equal(t, controller.Operator, role)
	require.Equal(t, flags{controllers: []string{"ipam", "-hostnet"}, metrics: ":8443", secureMetrics: true, probes: ":8081",
		leaderElection: true, webhookCerts: "/certs", webhookPort: 9446}, f)
	_, _, _, err = execute(t, "operator", "--host-root=/host")
	require.ErrorContains(t, err, "unknown flag: --host-root", "the operator has no host")
}

func TestNodeFlags(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	_, _, _, err := execute(t, "node")
	require.EqualError(t, err, "no node name: set NODE_NAME from spec.nodeName of the pod, or --node-name")
	t.Setenv("NODE_NAME", "sno")
	role, f, _, err := execute(t, "node", "--host-root=/host", "--kubeconfig=kc", "--metrics-bind-address=0")
	require.NoError(t, err)
	require.Equal(t, controller.Node, role)
	require.Equal(t, flags{controllers: []string{"*"}, kubeconfig: "kc", metrics: "0", probes: "127.0.0.1:29444",
		nodeName: "sno", hostRoot: "/host"}, f)
}

func TestARoleIsRequired(t *testing.T) {
	_, _, _, err := execute(t)
	require.ErrorContains(t, err, `run "lifecycle-agent operator" or "lifecycle-agent node"`)
	_, _, _, err = execute(t, "--host-root=/host")
	require.Error(t, err, "the command line of the single-pod agent")
}

// TestAnUnknownControllerIsRefusedBeforeAnythingStarts: no API server is needed to learn of a typing error.
func TestAnUnknownControllerIsRefusedBeforeAnythingStarts(t *testing.T) {
	err := runRole(t.Context(), controller.Operator, flags{controllers: []string{"ipconfig"}, kubeconfig: "/missing"})
	require.EqualError(t, err, `unknown controller "ipconfig": role operator has ipam, hostnet, netpolicy, netmachineconfig, relocation`)
}

func TestHelpListsTheControllersOfTheRole(t *testing.T) {
	_, _, help, err := execute(t, "operator", "--help")
	require.NoError(t, err)
	require.Contains(t, help, controller.Describe(controller.Operator))
	require.NotContains(t, help, "ipconfig")
}

func TestRecertImage(t *testing.T) {
	shipped := func(name string) string { return map[string]string{"RELATED_IMAGE_RECERT_IMAGE": "shipped:1"}[name] }
	require.Equal(t, "shipped:1", recertImage(shipped))
	require.Equal(t, defaultRecertImage, recertImage(func(string) string { return "" }))
}

// TestTheHostIsReadBelowItsRoot builds the ports over a folder that looks like a host's root.
func TestTheHostIsReadBelowItsRoot(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "etc"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "etc", "only-here"), []byte("yes"), 0o600))
	n, networks := newHost(dir, slog.New(slog.DiscardHandler))
	data, err := n.Files.Read("/etc/only-here")
	require.NoError(t, err)
	require.Equal(t, "yes", string(data))
	_, err = n.Network.Observe(t.Context())
	require.ErrorContains(t, err, dir, "the host's bus, not the pod's")
	_, err = networks.Network.Observe(t.Context())
	require.ErrorContains(t, err, dir)
	require.Nil(t, shippedCLI("/"), "on the node itself lca-cli is in place")
}
