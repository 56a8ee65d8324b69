package network_test

import (
	"bytes"
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
)

// update writes the golden files anew: go test ./internal/cli/network -update.
var update = flag.Bool("update", false, "write the golden files")

// run executes "network ARGS" in testdata, without a node, and returns what it prints.
func run(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	t.Chdir("testdata")
	var out bytes.Buffer
	cmd := cli.Command(cli.Wiring{
		Wiring: verb.Wiring{Log: slog.New(slog.DiscardHandler), Out: &out}, In: strings.NewReader(in),
		Node: func(context.Context) (cli.Ports, error) {
			t.Error("the node is not asked")
			return cli.Ports{}, context.Canceled
		},
	})
	cmd.AddCommand(cli.DocumentsCommand(cli.Documents{In: strings.NewReader(in), Out: &out}).Commands()...)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("golden", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestGolden(t *testing.T) {
	for name, args := range map[string]string{
		"format.yaml":       "format bond.yaml",
		"format.json":       "fmt --json bond.yaml",
		"diff.yaml":         "diff bond.yaml -c node.yaml",
		"diff-alias.yaml":   "gd node.yaml node.yaml",
		"revert.yaml":       "revert bond.yaml -c node.yaml",
		"policy.yaml":       "policy policy.yaml -c node.yaml",
		"policy-again.yaml": "p policy.yaml -c node.yaml --captured captured.yaml",
		"validate.txt":      "validate bond.yaml policy.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, "", strings.Fields(args)...)
			require.NoError(t, err)
			golden(t, name, out)
		})
	}
}

func TestStandardInput(t *testing.T) {
	out, err := run(t, "interfaces: [{name: 0b10, type: dummy}]", "format")
	require.NoError(t, err)
	require.Contains(t, out, `name: "0b10"`)
}

func TestWhatTheCapturesSelectedIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "captured.yaml")
	_, err := run(t, "", "policy", "policy.yaml", "-c", "node.yaml", "-q", "-o", file)
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	golden(t, "captured.yaml", string(text))
}

func TestRefusals(t *testing.T) {
	for name, args := range map[string]string{
		"wrong.txt":    "validate wrong.yaml",
		"misspelt.txt": "diff misspelt.yaml -c node.yaml",
		"gen-conf.txt": "gc bond.yaml",
		"no-file.txt":  "format nowhere.yaml",
		"kernel.txt":   "show -k",
		"verify.txt":   "apply --no-verify bond.yaml",
		"two.txt":      "apply --no-commit bond.yaml node.yaml",
		"policy.txt":   "policy bond.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, "", strings.Fields(args)...)
			require.Error(t, err)
			require.Empty(t, out)
			golden(t, name, strings.ReplaceAll(err.Error(), "; ", ";\n")+"\n")
		})
	}
}
