package main

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// TestMistakesOfTheCommandLine: each ends before it touches a node or a cluster.
func TestMistakesOfTheCommandLine(t *testing.T) {
	for args, want := range map[string]string{
		"ip-config foo":                   `unknown command "foo" for "lca-cli ip-config"`,
		"ip-config plam":                  `did you mean "plan"?`,
		"ipam plan -f pools.yaml":         `"lca-cli ipam" has moved to a workstation: use "kubectl lca ipam"`,
		"network diff bond.yaml -c a":     `"lca-cli network diff" has moved to a workstation: use "kubectl lca network diff"`,
		"relocation sites --csv a":        `use "kubectl lca relocation sites"`,
		"recert foo":                      `unknown command "foo" for "lca-cli recert"`,
		"relocation foo":                  `unknown command "foo" for "lca-cli relocation"`,
		"stateroot lits":                  `did you mean "list"?`,
		"statsu":                          `did you mean "status"?`,
		"ip-config plan --vlan-id 5000":   "--vlan-id 5000: must be a number from 0 to 4094",
		"recert scan --endpoint foo":      "--endpoint foo: is not a URL such as https://127.0.0.1:2379",
		"recert scan --endpoint foo:2379": "--endpoint foo:2379: is not a URL such as https://127.0.0.1:2379",
	} {
		t.Run(args, func(t *testing.T) {
			cmd := newRootCommand(slog.New(slog.DiscardHandler))
			cmd.SetOut(io.Discard)
			err := commandline.Execute(t.Context(), cmd, strings.Fields(args))
			require.ErrorContains(t, err, want)
			require.Equal(t, commandline.UsageExit, exitCode(err))
		})
	}
}

func TestExitCodes(t *testing.T) {
	require.Zero(t, exitCode(nil))
	require.Equal(t, 1, exitCode(errors.New("x")))
	require.Equal(t, host.FinalExit, exitCode(&verb.FinalError{Cause: errors.New("x")}))
}
