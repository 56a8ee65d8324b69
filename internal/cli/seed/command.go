// Package seed holds the verbs of "lca-cli seed": making seed images, looking at them, and restoring them. cmd/lca-cli builds them; they
// call the seed domain and must not import an adapter.
package seed

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
)

// Wiring is what main gives the verbs.
type Wiring struct {
	verb.Wiring
	// Node builds the ports. acting: the verb changes the node.
	Node func(ctx context.Context, acting bool) (create.Ports, operation.Instruments, error)
	// Restore and Site are for the verbs that restore: before the reboot, and after it.
	Restore func(ctx context.Context, acting bool) (restore.Ports, operation.Instruments, error)
	Site    func(ctx context.Context, acting bool) (onsite.Ports, operation.Instruments, error)
	// Target is the node's own cluster, for an image to be compared with.
	Target restore.TargetCluster
	// Survey gathers what the checks must know, and completes what is asked for by the SeedGenerator of the cluster.
	Survey func(ctx context.Context, asked lcav1.SeedGeneratorSpec) (lcav1.SeedGeneratorSpec, preflight.Facts, error)
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
		Use: "seed", Short: "Make, inspect, verify and restore seed images",
		Long: "Make, inspect, verify and restore seed images: docs/seed-images.md.",
	}
	cmd.AddCommand(check(w), generate(w), abort(w), inspect(w), verify(w), manifests(w), w.restore(), w.rollback(), w.commit(), w.status())
	return cmd
}

// outputFlag adds -o.
func outputFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVarP(format, "output", "o", string(output.Text), "text, yaml or json")
}
<<<<<<< HEAD
=======

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
		Short: "Give up an unfinished seed image, or a restore that has not rebooted, and remove what it made",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, found, err := restore.ReadRequest(w.Files); err != nil || found {
				return errors.Join(err, w.abortRestore(cmd.Context()))
			}
			return act(cmd.Context(), w, "seed abort", create.Abort)
		},
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
>>>>>>> wt/restore
