package relocation

import "github.com/spf13/cobra"

// Group is "relocation" with its verbs.
func Group(verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "relocation",
		Short: "Prepare a cluster for a site in the factory, and make it at home there",
	}
	cmd.AddCommand(verbs...)
	return cmd
}
