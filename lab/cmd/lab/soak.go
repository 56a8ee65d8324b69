package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/soak"
)

func soakCommand(o *options) *cobra.Command {
	kind, report := string(machine.Nspawn), "build/soak/report.json"
	cuts, seed, limit := 50, uint64(20261121), time.Duration(0)
	cmd := &cobra.Command{
		Use: "soak", Short: "Cut a node's power at random moments of changes and rollbacks, and count what comes back", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			klog.SetOutput(io.Discard) // the client's own complaints about an API server that is away on purpose
			klog.LogToStderr(false)
			if !cmd.Flags().Changed("name") {
				o.name = "soak"
			}
			s := &soak.Soak{Cuts: cuts, For: limit, Seed: seed, Out: os.Stderr,
				Keep:  func(r soak.Report) error { return r.Write(report) },
				Fresh: func(ctx context.Context) (*lab.Lab, error) { return freshLab(ctx, o, machine.Kind(kind)) }}
			result, err := s.Run(cmd.Context())
			fmt.Fprintln(cmd.OutOrStdout(), result.Summary())
			return err
		},
	}
	cmd.Flags().StringVar(&kind, "machine", kind, "nspawn (seconds) or qemu (a real kernel and boot loader, minutes)")
	cmd.Flags().IntVar(&cuts, "cuts", cuts, "how often the power is cut, at least")
	cmd.Flags().DurationVar(&limit, "for", limit, "cut nothing more once the flow that is under way after this time has ended; 0 for no limit")
	cmd.Flags().Uint64Var(&seed, "seed", seed, "what flows and moments are drawn from")
	cmd.Flags().StringVar(&report, "report", report, "file for the figures")
	agentFlag(cmd, o)
	return cmd
}
