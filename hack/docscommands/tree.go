package docscommands

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Check holds a command of a page against a program: each verb and each flag must exist.
func Check(root *cobra.Command, c Command) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd, rest := root, c.Words
	for len(rest) > 0 {
		next := child(cmd, rest[0])
		if next == nil {
			break
		}
		cmd, rest = next, rest[1:]
	}
	if len(rest) > 0 && cmd.HasSubCommands() && !strings.HasPrefix(rest[0], "-") && !Placeholder(rest[0]) && !cmd.Runnable() {
		return fmt.Errorf("%s: %q has no verb %q", c, cmd.CommandPath(), rest[0])
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	for _, word := range rest {
		if word == "--" {
			return nil
		}
		if strings.HasPrefix(word, "-") && word != "-" && flag(cmd, word) == nil {
			return fmt.Errorf("%s: %q has no flag %s", c, cmd.CommandPath(), word)
		}
	}
	return nil
}

// child is the verb of a name. Pages name several at once: "clone|list".
func child(cmd *cobra.Command, name string) *cobra.Command {
	for _, sub := range cmd.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}

func flag(cmd *cobra.Command, word string) *pflag.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags(), cmd.PersistentFlags()} {
		if strings.HasPrefix(word, "--") {
			if f := set.Lookup(name); f != nil {
				return f
			}
		} else if f := set.ShorthandLookup(name[:1]); f != nil {
			return f
		}
	}
	return nil
}
