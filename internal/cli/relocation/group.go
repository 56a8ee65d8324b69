package relocation

import "github.com/spf13/cobra"

// Group is "relocation" with its verbs.
func Group(verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "relocation",
		Short: "Prepare a cluster in the factory and configure it on site",
	}
	cmd.AddCommand(verbs...)
	return cmd
}
