package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
)

// TestMistakesExitWithTwo: a mistyped verb or flag is an error with a suggestion.
func TestMistakesExitWithTwo(t *testing.T) {
	for text, args := range map[string][]string{
		`unknown command "stauts" for "kubectl lca": did you mean "status"?`:          {"stauts"},
		"unknown flag --ipv4-gatewy: did you mean --ipv4-gateway?":                    {"change", "--ipv4-gatewy=192.0.2.1"},
		"--vlan-id 5000: must be a number from 0 to 4094":                             {"plan", "--vlan-id=5000"},
		"--ipv4-machine-network and --ipv4-gateway need --ipv4-address":               {"change", "--ipv4-gateway=192.0.2.1"},
		"output format \"xml\" is none of text, yaml, json":                           {"status", "-o", "xml"},
		`unknown command "foo" for "kubectl lca ipam": see "kubectl lca ipam --help"`: {"ipam", "foo"},
		`unexpected argument "pools.yaml": did you mean -f pools.yaml?`:               {"ipam", "plan", "pools.yaml"},
		"--count -1: must be a positive number":                                       {"ipam", "plan", "--count", "-1"},
		"--count abc: must be a positive number":                                      {"ipam", "plan", "--count", "abc"},
		`unexpected argument "now": "kubectl lca rollback" takes none`:                {"rollback", "now"},
		`--watch prints text; for other formats use "kubectl get ipconfig -w"`:        {"status", "-w", "-o", "json"},
	} {
		err := commandline.Execute(t.Context(), newRootCommand(&bytes.Buffer{}), args)
		require.EqualError(t, err, text)
	}
	err := commandline.Execute(t.Context(), newRootCommand(&bytes.Buffer{}), []string{"stauts"})
	require.Equal(t, commandline.UsageExit, exitCode(err))
}

// TestTheShellCompletesVerbsAndFlags as kubectl_complete-lca asks for them.
func TestTheShellCompletesVerbsAndFlags(t *testing.T) {
	var out bytes.Buffer
	cmd := newRootCommand(&out)
	cmd.SetOut(&out)
	require.NoError(t, commandline.Execute(t.Context(), cmd, []string{"__complete", "roll"}))
	require.Contains(t, out.String(), "rollback\t")
	out.Reset()
	cmd = newRootCommand(&out)
	cmd.SetOut(&out)
	require.NoError(t, commandline.Execute(t.Context(), cmd, []string{"__complete", "change", "--ipv4-a"}))
	require.Contains(t, out.String(), "--ipv4-address")
}

func TestAKubeconfigThatCannotBeReadIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err := connectCluster(file, "")
	require.ErrorContains(t, err, file)
	require.Equal(t, 1, exitCode(err))
}
