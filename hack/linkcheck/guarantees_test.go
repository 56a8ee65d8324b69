package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A row of the guarantees rests on a test: one that is renamed or lost takes its row with it.
func TestTheGuaranteesNameTestsThatExist(t *testing.T) {
	const root = "../.."
	declared, named := regexp.MustCompile(`(?m)^func (Test\w+)\(`), regexp.MustCompile("`(Test\\w+)`")
	have := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "build" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			have[string(m[1])] = true
		}
		return err
	}))
	for _, page := range []string{"guarantees.md", "ipconfig-guarantees.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", page))
		require.NoError(t, err)
		rows := named.FindAllSubmatch(text, -1)
		require.NotEmpty(t, rows, page)
		for _, m := range rows {
			require.True(t, have[string(m[1])], "%s: there is no test %s", page, m[1])
		}
	}
}
