package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/hack/docscommands"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
)

// TestEveryCommandOfTheDocsExists: its verbs and its flags.
func TestEveryCommandOfTheDocsExists(t *testing.T) {
	found := 0
	for _, program := range []string{"kubectl", "oc"} {
		commands, err := docscommands.Of("../..", program, "lca")
		require.NoError(t, err)
		for _, c := range commands {
			found++
			require.NoError(t, docscommands.Check(newRootCommand(&bytes.Buffer{}), c))
		}
	}
	require.NotZero(t, found)
}

// harmless are the verbs that need neither a node nor a cluster.
var harmless = [][]string{{"ipam"}, {"network", "policy"}, {"network", "validate"}, {"relocation", "config"}, {"completion"}, {"--version"}}

func isHarmless(c docscommands.Command) bool {
	if slices.Contains(c.Words, "-") {
		return false // it reads what another command prints
	}
	return slices.Contains(c.Words, "--help") || slices.ContainsFunc(harmless, func(verb []string) bool {
		return slices.Equal(verb, c.Words[:min(len(verb), len(c.Words))])
	})
}

// TestCommandsOfTheDocsThatNeedNothingRun in the order of their page, in a folder with the files that the pages name.
func TestCommandsOfTheDocsThatNeedNothingRun(t *testing.T) {
	commands, err := docscommands.Of("../..", "kubectl", "lca")
	require.NoError(t, err)
	folder := t.TempDir()
	for name, from := range map[string]string{
		"pools.yaml": "ipam/testdata/pools.yaml", "master.ign": "ipam/testdata/base.ign", "bond.yaml": "network/testdata/bond.yaml",
		"policy.yaml": "network/testdata/policy.yaml", "node.yaml": "network/testdata/node.yaml", "later.yaml": "network/testdata/node.yaml",
	} {
		text, err := os.ReadFile(filepath.Join("../../internal/cli", from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	t.Chdir(folder)
	ran := 0
	for _, c := range commands {
		if c.Listed && isHarmless(c) {
			ran++
			require.NoError(t, runListed(t, c), c)
		}
	}
	require.Greater(t, ran, 10)
}

// runListed runs a command with its output in the file that the page names.
func runListed(t *testing.T, c docscommands.Command) error {
	t.Helper()
	to := c.To
	if to == "" {
		to = os.DevNull
	}
	out, err := os.Create(to)
	require.NoError(t, err)
	defer out.Close()
	stdout := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = stdout }()
	return commandline.Execute(t.Context(), newRootCommand(os.Stdout), c.Words)
}
