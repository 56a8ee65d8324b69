package main

import (
	"bytes"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/hack/docscommands"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
)

// TestEveryCommandOfTheDocsExists: its verbs and its flags.
func TestEveryCommandOfTheDocsExists(t *testing.T) {
	commands, err := docscommands.Of("../..", "lca-cli")
	require.NoError(t, err)
	require.NotEmpty(t, commands)
	for _, c := range commands {
		require.NoError(t, docscommands.Check(root(slog.New(slog.DiscardHandler)), c))
	}
}

// harmless are the verbs that read files alone, and so can be run as the pages have them where the files are in the repository.
var harmless = [][]string{{"ipam", "plan"}, {"ipam", "render"}, {"network", "files"}, {"relocation", "site-config"}, {"--version"}, {"completion"}}

// TestCommandsOfTheDocsThatNeedNothingRun in the root of the repository, each with the help of its verb besides.
func TestCommandsOfTheDocsThatNeedNothingRun(t *testing.T) {
	t.Chdir("../..")
	commands, err := docscommands.Of(".", "lca-cli")
	require.NoError(t, err)
	ran := 0
	for _, c := range commands {
		if !c.Listed || !slices.ContainsFunc(harmless, func(verb []string) bool { return slices.Equal(verb, c.Words[:min(len(verb), len(c.Words))]) }) ||
			!filesExist(c.Words) {
			if !slices.Contains(c.Words, "--help") {
				continue
			}
		}
		ran++
		cmd := root(slog.New(slog.DiscardHandler))
		cmd.SetOut(&bytes.Buffer{})
		require.NoError(t, commandline.Execute(t.Context(), cmd, c.Words), c)
	}
	require.NotZero(t, ran)
}

// filesExist says that the command has files, and that each is in the repository.
func filesExist(words []string) bool {
	files := 0
	for _, word := range words {
		if strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".json") || strings.HasSuffix(word, ".csv") {
			if _, err := os.Stat(word); err != nil {
				return false
			}
			files++
		}
	}
	return files > 0 || len(words) <= 2
}
