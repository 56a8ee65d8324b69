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

func generate(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "create", Args: cobra.NoArgs,
		Short: "Make the seed image that was requested (run by lca-generate-seed-image.service)",
		Long: "Make the seed image that the agent requested, or continue an interrupted run. Follow it with\n" +
			"'lca-cli status --watch' or 'journalctl -fu lca-generate-seed-image'.",
		RunE: func(cmd *cobra.Command, _ []string) error { return act(cmd.Context(), w, "seed create", create.Run) },
	}
}

func abort(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "abort", Args: cobra.NoArgs,
		Short: "Give up an unfinished seed image: remove the copy and start the cluster",
		RunE:  func(cmd *cobra.Command, _ []string) error { return act(cmd.Context(), w, "seed abort", create.Abort) },
	}
}

func act(ctx context.Context, w Wiring, name string, do func(context.Context, create.Ports, operation.Instruments) error) error {
	node, with, err := w.Node(ctx, true)
	if err != nil {
		return err
	}
	release, err := w.Take(ctx, create.Holder(node.Files), name)
	if err != nil {
		return err
	}
	defer release()
	return w.Verdict(name, do(ctx, node, with))
}
