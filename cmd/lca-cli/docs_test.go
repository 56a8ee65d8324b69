package main

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/hack/docscommands"
)

// TestEveryCommandOfTheDocsExists: its verbs and its flags.
func TestEveryCommandOfTheDocsExists(t *testing.T) {
	commands, err := docscommands.Of("../..", "lca-cli")
	require.NoError(t, err)
	require.NotEmpty(t, commands)
	for _, c := range commands {
		require.NoError(t, docscommands.Check(newRootCommand(slog.New(slog.DiscardHandler)), c))
	}
}
