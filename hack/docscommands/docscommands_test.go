package docscommands

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func TestCommandsAreFound(t *testing.T) {
	page := "Run `tool verb --flag` or `other`.\n\n```bash\n# tool one 'a b' \\\n    --two   # why\nsudo A=b tool three | tool four; until tool five; do sleep; done\n" +
		"tool six > file 2>&1\n```\n`tool seven`\n"
	var found []string
	for _, c := range in("p.md", page, []string{"tool"}) {
		found = append(found, c.String())
	}
	require.Equal(t, []string{"p.md:1: verb --flag", "p.md:4: one a b --two", "p.md:6: three", "p.md:6: four", "p.md:6: five", "p.md:7: six",
		"p.md:9: seven"}, found)
}

func TestPlaceholders(t *testing.T) {
	for word, want := range map[string]bool{"FILE": true, "...": true, "192.0.2.1": true, "plan": false, "$NODE": true} {
		require.Equal(t, want, Placeholder(word), word)
	}
}

// TestEveryTargetOfMakeExists that a page names.
func TestEveryTargetOfMakeExists(t *testing.T) {
	targets := map[string]bool{}
	rule := regexp.MustCompile(`(?m)^([a-zA-Z][a-zA-Z0-9_-]*):(?:[^=]|$)`)
	err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == "build" || entry.Name() == ".git") {
			return skip(entry, err)
		}
		if entry.Name() == "Makefile" || filepath.Ext(path) == ".mk" {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, m := range rule.FindAllStringSubmatch(string(text), -1) {
				targets[m[1]] = true
			}
		}
		return nil
	})
	require.NoError(t, err)
	commands, err := Of("../..", "make")
	require.NoError(t, err)
	require.NotEmpty(t, commands)
	commands = append(commands, inWorkflows(t)...)
	for _, c := range commands {
		for _, word := range c.Words {
			if strings.HasPrefix(word, "-") || strings.Contains(word, "=") || Placeholder(word) {
				continue
			}
			require.True(t, targets[word], "%s: no target %s", c, word)
		}
	}
}

// inWorkflows are the makes of the CI's workflows, each of which is YAML.
func inWorkflows(t *testing.T) (all []Command) {
	t.Helper()
	files, err := filepath.Glob("../../.github/workflows/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range append(files, "../../.pre-commit-config.yaml", "../../OWNERS", "../../OWNERS_ALIASES") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, &map[string]any{}), file)
		for n, line := range strings.Split(string(text), "\n") {
			if run, found := strings.CutPrefix(strings.TrimSpace(line), "- run: "); found {
				all = append(all, commands(file, n+1, run, []string{"make"}, true)...)
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

func skip(entry os.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if entry.IsDir() {
		return filepath.SkipDir
	}
	return nil
}
