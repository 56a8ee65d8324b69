// Package seed holds the verbs of "lca-cli seed": making seed images, looking at them, and restoring them. cmd/lca-cli builds them; they
// call the seed domain and must not import an adapter.
package seed

import (
	"context"

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
	// Registries, Archives and Files serve the verbs that look at images, on any machine.
	Registries host.Registries
	Archives   host.Archives
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
	cmd.AddCommand(newCheckCommand(w), newCreateCommand(w), newAbortCommand(w), newInspectCommand(w), newVerifyCommand(w),
		w.newRestoreCommand(), w.newRollbackCommand(), w.newCommitCommand(), w.newStatusCommand())
	return cmd
}

// outputFlag adds -o.
func outputFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVarP(format, "output", "o", string(output.Text), "text, yaml or json")
}
