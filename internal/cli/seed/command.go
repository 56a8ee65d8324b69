// Package seed holds the verbs of "lca-cli seed": making seed images and looking at them. cmd/lca-cli builds them; they
// call the seed domain and must not import an adapter.
package seed

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
)

// Wiring is what main gives the verbs.
type Wiring struct {
	verb.Wiring
	// Node builds the ports. acting: the verb changes the node.
	Node func(ctx context.Context, acting bool) (create.Ports, operation.Instruments, error)
	// Registries and Files serve the verbs that look at images, on any machine.
	Registries host.Registries
	Files      host.Files
	// ReadInput reads a file that the caller named, relative to where the caller is.
	ReadInput func(path string) ([]byte, error)
	// NewID names a new operation.
	NewID func() string
}

// Command is "seed" with its verbs.
func Command(w Wiring) *cobra.Command {
	cmd := &cobra.Command{
		Use: "seed", Short: "Make, inspect and verify seed images",
		Long: "Make, inspect and verify seed images: docs/seed-images.md.",
	}
	cmd.AddCommand(generate(w), abort(w), inspect(w), verify(w), manifests(w))
	return cmd
}

// outputFlag adds -o.
func outputFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVarP(format, "output", "o", string(output.Text), "text, yaml or json")
}
