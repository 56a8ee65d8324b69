package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/demo"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// demoTimeout is far beyond what the slower machine needs.
const demoTimeout = 40 * time.Minute

func demoCommand(o *options) *cobra.Command {
	kind, report, keep := string(machine.Nspawn), "build/demo/report.json", false
	cmd := &cobra.Command{
		Use: "demo", Short: "Change a fresh node's address, prove it from outside, and bring it back", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), demoTimeout)
			defer cancel()
			klog.SetOutput(io.Discard) // the client's own complaints about an API server that is away on purpose
			klog.LogToStderr(false)
			if !cmd.Flags().Changed("name") {
				o.name = "demo"
			}
			l, err := freshLab(ctx, o, machine.Kind(kind))
			if err != nil {
				return err
			}
			if err := (&demo.Demo{Lab: l, Out: os.Stdout, ReportFile: report}).Run(ctx); err != nil {
				return err
			}
			if keep {
				return nil
			}
			return l.Down(ctx, false)
		},
	}
	cmd.Flags().StringVar(&kind, "machine", kind, "nspawn (seconds) or qemu (a real kernel and boot loader, minutes)")
	agentFlag(cmd, o)
	cmd.Flags().StringVar(&report, "report", report, "file for the figures")
	cmd.Flags().BoolVar(&keep, "keep", keep, "leave the node running")
	return cmd
}

// freshLab makes a lab that did not exist before.
func freshLab(ctx context.Context, o *options, kind machine.Kind) (*lab.Lab, error) {
	tools, err := o.tools()
	if err != nil {
		return nil, err
	}
	old, err := lab.Open(tools, o.name)
	if err != nil && !errors.Is(err, lab.ErrNone) {
		return nil, err
	}
	if err == nil {
		if err := old.Down(ctx, false); err != nil {
			return nil, fmt.Errorf("remove the node of an earlier run: %w", err)
		}
	}
	return lab.Up(ctx, tools, o.name, kind, provisioner(false), narrator(time.Now()))
}
