package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
)

// newMovedCommand answers a verb that needs no node: kubectl-lca has it under the same words.
func newMovedCommand(name string, aliases ...string) *cobra.Command {
	return &cobra.Command{
		Use: name, Aliases: aliases, Hidden: true, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			words := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name())
			return &commandline.UsageError{
				Cause: fmt.Errorf("%q has moved to a workstation: use \"kubectl lca%s\"", cmd.CommandPath(), words),
			}
		},
	}
}
