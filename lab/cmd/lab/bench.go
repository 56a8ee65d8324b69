package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/bench"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// benchTimeout is far beyond what the slower machine needs.
const benchTimeout = 2 * time.Hour

// benchSizes is the extra data by default, in GB; an emulated PC has a small disk and no hurry in it.
var benchSizes = map[machine.Kind][]float64{machine.Nspawn: {0, 1, 4}, machine.QEMU: {0, 0.5}}

func benchCommand(o *options) *cobra.Command {
	kind, report, reconcile := string(machine.Nspawn), "build/bench/report.json", ""
	var sizes []float64
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure an address change on fresh nodes, against a bare reboot and the order of the reference", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), benchTimeout)
			defer cancel()
			o.name = "bench"
			if !cmd.Flags().Changed("sizes") {
				sizes = benchSizes[machine.Kind(kind)]
			}
			known, err := readReconcile(reconcile)
			if err != nil {
				return err
			}
			started := time.Now()
			b := &bench.Bench{
				Fresh:   func(ctx context.Context) (*lab.Lab, error) { return freshLab(ctx, o, machine.Kind(kind)) },
				Discard: func(ctx context.Context, l *lab.Lab) error { return l.Down(ctx, false) },
				Sizes:   sizes, Reconcile: known, Command: benchLine(kind, sizes),
				Say: func(text string) { fmt.Fprintln(os.Stderr, elapsed(started), text) },
			}
			result, err := b.Run(ctx)
			return errors.Join(err, bench.Write(result, report, os.Stdout))
		},
	}
	cmd.Flags().StringVar(&kind, "machine", kind, "nspawn (seconds) or qemu (a real kernel and boot loader, minutes)")
	cmd.Flags().StringVar(&report, "report", report, "file for the figures")
	cmd.Flags().StringVar(&reconcile, "reconcile", reconcile, "file with the output of go test -bench -benchmem, to be shown as well")
	cmd.Flags().Float64SliceVar(&sizes, "sizes", nil, "extra data in /var, in GB; one fresh node each (default 0,1,4 on nspawn, 0,0.5 on qemu)")
	return cmd
}

// benchLine is how to get the same run again.
func benchLine(kind string, sizes []float64) string {
	words := make([]string, 0, len(sizes))
	for _, s := range sizes {
		words = append(words, fmt.Sprint(s))
	}
	return fmt.Sprintf("lab bench --machine %s --sizes %s", kind, strings.Join(words, ","))
}

// readReconcile reads the Go benchmarks' figures; no file is no figures.
func readReconcile(file string) ([]bench.Reconcile, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the benchmarks of the operator: %w", err)
	}
	defer f.Close()
	return bench.ParseReconcile(f)
}
