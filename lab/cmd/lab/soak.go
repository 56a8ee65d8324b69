package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/soak"
)

func soakCommand(o *options) *cobra.Command {
	kind, report := string(machine.Nspawn), "build/soak/report.json"
	cuts, seed := 50, uint64(20261121)
	cmd := &cobra.Command{
		Use: "soak", Short: "Cut a node's power at random moments of changes and rollbacks, and count what comes back", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			klog.SetOutput(io.Discard) // the client's own complaints about an API server that is away on purpose
			klog.LogToStderr(false)
			if !cmd.Flags().Changed("name") {
				o.name = "soak"
			}
			s := &soak.Soak{Cuts: cuts, Seed: seed, Out: os.Stderr,
				Fresh: func(ctx context.Context) (*lab.Lab, error) { return freshLab(ctx, o, machine.Kind(kind)) }}
			result, err := s.Run(cmd.Context())
			fmt.Fprintln(cmd.OutOrStdout(), result.Summary())
			return errors.Join(err, result.Write(report))
		},
	}
	cmd.Flags().StringVar(&kind, "machine", kind, "nspawn (seconds) or qemu (a real kernel and boot loader, minutes)")
	cmd.Flags().IntVar(&cuts, "cuts", cuts, "how often the power is cut")
	cmd.Flags().Uint64Var(&seed, "seed", seed, "what the moments are drawn from; the same seed asks for the same")
	cmd.Flags().StringVar(&report, "report", report, "file for the figures")
	agentFlag(cmd, o)
	return cmd
}
