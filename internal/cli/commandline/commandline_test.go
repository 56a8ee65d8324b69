package commandline_test

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
)

// program has a group with a verb, and a verb of its own that takes a name.
func program(out *bytes.Buffer) *cobra.Command {
	root := &cobra.Command{Use: "prog", SilenceErrors: true, SilenceUsage: true}
	group := &cobra.Command{Use: "ipam", Short: "group"}
	plan := &cobra.Command{Use: "plan", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return nil }}
	plan.Flags().StringArrayP("filename", "f", nil, "")
	plan.Flags().Int("wave", 0, "")
	var count, vlan int
	commandline.Count(plan.Flags(), &count, "count", "")
	commandline.Range(plan.Flags(), &vlan, "vlan-id", 0, 4094, "")
	clone := &cobra.Command{Use: "clone NAME", Args: cobra.ExactArgs(1), RunE: func(*cobra.Command, []string) error { return nil }}
	group.AddCommand(plan)
	root.AddCommand(group, clone)
	root.SetOut(out)
	return root
}

func TestMistakesAreUsageErrorsThatSuggest(t *testing.T) {
	for name, k := range map[string]struct {
		args []string
		want string
	}{
		"mistyped group":      {[]string{"ipma"}, `unknown command "ipma" for "prog": did you mean "ipam"?`},
		"mistyped verb":       {[]string{"ipam", "paln"}, `unknown command "paln" for "prog ipam": did you mean "plan"?`},
		"nothing resembles":   {[]string{"ipam", "foo"}, `unknown command "foo" for "prog ipam": see "prog ipam --help"`},
		"file without -f":     {[]string{"ipam", "plan", "pools.yaml"}, `unexpected argument "pools.yaml": did you mean -f pools.yaml?`},
		"argument":            {[]string{"ipam", "plan", "more"}, `unexpected argument "more": "prog ipam plan" takes none`},
		"mistyped flag":       {[]string{"ipam", "plan", "--cuont=1"}, "unknown flag --cuont: did you mean --count?"},
		"no such flag":        {[]string{"ipam", "plan", "--elsewhere"}, "unknown flag: --elsewhere"},
		"no number":           {[]string{"ipam", "plan", "--count=abc"}, "--count abc: must be a positive number"},
		"not positive":        {[]string{"ipam", "plan", "--count=-1"}, "--count -1: must be a positive number"},
		"out of range":        {[]string{"ipam", "plan", "--vlan-id=5000"}, "--vlan-id 5000: must be a number from 0 to 4094"},
		"plain number":        {[]string{"ipam", "plan", "--wave=abc"}, "--wave abc: must be a number in range"},
		"missing argument":    {[]string{"clone"}, "accepts 1 arg(s), received 0"},
		"mistyped, with flag": {[]string{"ipam", "paln", "-f", "x"}, `unknown command "paln" for "prog ipam": did you mean "plan"?`},
	} {
		t.Run(name, func(t *testing.T) {
			err := commandline.Execute(t.Context(), program(&bytes.Buffer{}), k.args)
			require.EqualError(t, err, k.want)
			var usage *commandline.UsageError
			require.ErrorAs(t, err, &usage)
		})
	}
}

func TestWhatIsRightIsExecuted(t *testing.T) {
	for _, args := range [][]string{{"ipam", "plan", "-f", "x", "--count", "3"}, {"clone", "a"}, {"ipam"}, {"ipam", "--help"}, {"help", "ipam"}, {}} {
		require.NoError(t, commandline.Execute(t.Context(), program(&bytes.Buffer{}), args), args)
	}
}

func TestAShellIsAnswered(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, commandline.Execute(t.Context(), program(&out), []string{"__complete", "ip"}))
	require.Contains(t, out.String(), "ipam\tgroup\n")
}
