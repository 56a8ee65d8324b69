// Package commandline executes a program's commands strictly: a mistyped verb, flag or argument is an error that suggests what
// was meant. The mains of the programs call Execute; verbs use its bounded flags. It must import nothing of the product.
package commandline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// UsageExit is the exit code for a UsageError.
const UsageExit = 2

// UsageError is a command line that cannot be carried out as it is written.
type UsageError struct{ Cause error }

func (e *UsageError) Error() string { return e.Cause.Error() }

func (e *UsageError) Unwrap() error { return e.Cause }

// Execute carries out args. What is wrong with the arguments themselves is a UsageError.
func Execute(ctx context.Context, root *cobra.Command, args []string) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	root.SetFlagErrorFunc(flagError)
	root.SetArgs(args)
	forEachCommand(root, checkArguments)
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		return root.ExecuteContext(ctx) // a shell asks for completions; cobra adds this verb itself, later
	}
	if err := unknownVerb(root, args); err != nil {
		return &UsageError{err}
	}
	return root.ExecuteContext(ctx)
}

func forEachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, sub := range cmd.Commands() {
		forEachCommand(sub, do)
	}
}

// checkArguments replaces what cobra says of arguments that a verb does not take.
func checkArguments(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil || !cmd.Runnable() {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil {
			return nil
		}
		if len(args) > 0 && check(cmd, nil) == nil {
			err = unexpectedArgError(cmd, args[0])
		}
		return &UsageError{err}
	}
}

// unexpectedArgError suggests the flag that a bare file name was meant for.
func unexpectedArgError(cmd *cobra.Command, arg string) error {
	if flag := cmd.Flags().ShorthandLookup("f"); flag != nil && looksLikeFile(arg) {
		return fmt.Errorf("unexpected argument %q: did you mean -f %s?", arg, arg)
	}
	if meant := suggestCommand(cmd, arg); meant != "" {
		return fmt.Errorf("unknown command %q for %q: did you mean %q?", arg, cmd.CommandPath(), meant)
	}
	return fmt.Errorf("unexpected argument %q: %q takes none", arg, cmd.CommandPath())
}

func looksLikeFile(arg string) bool {
	if strings.ContainsAny(arg, "./") {
		return true
	}
	_, err := os.Stat(arg)
	return err == nil
}

// unknownVerb finds a word after a group of verbs that is none of them: cobra answers that with the group's help.
func unknownVerb(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err == nil && cmd.Runnable() {
		return nil
	}
	for _, arg := range rest {
		if arg == "-h" || arg == "--help" {
			return nil
		}
	}
	for _, arg := range rest {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		if meant := suggestCommand(cmd, arg); meant != "" {
			return fmt.Errorf("unknown command %q for %q: did you mean %q?", arg, cmd.CommandPath(), meant)
		}
		return fmt.Errorf("unknown command %q for %q: see \"%s --help\"", arg, cmd.CommandPath(), cmd.CommandPath())
	}
	return nil
}

func suggestCommand(cmd *cobra.Command, arg string) string {
	cmd.SuggestionsMinimumDistance = 2
	if names := cmd.SuggestionsFor(arg); len(names) > 0 {
		return names[0]
	}
	return ""
}

// flagError names the flag that a mistyped one resembles, and says in words what a number must be.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	switch {
	case errors.As(err, &missing) && missing.GetSpecifiedShortnames() == "":
		if meant := nearestFlag(cmd.Flags(), missing.GetSpecifiedName()); meant != "" {
			err = fmt.Errorf("unknown flag --%s: did you mean --%s?", missing.GetSpecifiedName(), meant)
		}
	case errors.As(err, &invalid) && errors.As(err, &number):
		err = fmt.Errorf("--%s %s: must be a number in range", invalid.GetFlag().Name, invalid.GetValue())
	case errors.As(err, &invalid):
		err = fmt.Errorf("--%s %s: %w", invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())
	}
	return &UsageError{err}
}

// nearestFlag uses cobra's measure of likeness, which is for commands.
func nearestFlag(flags *pflag.FlagSet, name string) string {
	names := &cobra.Command{}
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	return suggestCommand(names, name)
}
