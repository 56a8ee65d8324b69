package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
)

func applyCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "apply FILE", Short: "Apply a manifest to the node's cluster, from outside (- reads standard input)", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := o.open()
			if err != nil {
				return err
			}
			file := os.Stdin
			if args[0] != "-" {
				if file, err = os.Open(args[0]); err != nil {
					return err
				}
				defer file.Close()
			}
			applied, err := l.Apply(cmd.Context(), file)
			for _, name := range applied {
				fmt.Fprintln(cmd.OutOrStdout(), name, "applied")
			}
			if errors.Is(err, lab.ErrNoCluster) {
				return fmt.Errorf("%w; was the lab made with --bare?", err)
			}
			return err
		},
	}
}
