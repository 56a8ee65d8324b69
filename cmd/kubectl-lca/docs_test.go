package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/hack/docscommands"
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
