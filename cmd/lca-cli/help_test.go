package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The help texts that pages quote are those of the program.
func TestQuotedHelpIsTheProgramsOwn(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*/*.md")
	require.NoError(t, err)
	quoted := regexp.MustCompile("(?s)# lca-cli ([a-z -]+ --help)\n(.*?)\n```\n")
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, quote := range quoted.FindAllStringSubmatch(string(text), -1) {
			found++
			require.Equal(t, help(t, strings.Fields(quote[1])), quote[2], "%s: %s", page, quote[1])
		}
	}
	require.NotZero(t, found)
}

func help(t *testing.T, args []string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := newRootCommand(slog.New(slog.DiscardHandler))
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	require.NoError(t, cmd.Execute())
	return strings.TrimSpace(out.String())
}
