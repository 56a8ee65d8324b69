// Package ipam holds the verbs of "kubectl lca ipam", which work on YAML files and need no
// cluster: an installer runs them before there is one. cmd/kubectl-lca builds them; they
// parse flags and call internal/ipam/manifest. They must not import an adapter.
package ipam

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/manifest"
)

// Wiring is what main gives the verbs.
type Wiring struct {
	In  io.Reader
	Out io.Writer
	Now func() time.Time
	// Rand is for pools of the random strategy.
	Rand rand.Source
	// Cluster reads the records of a cluster for fsck; nil where there is no way to one.
	Cluster func(ctx context.Context) (*manifest.Inventory, error)
}

// Command is "ipam" with its verbs.
func Command(w Wiring) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ipam",
		Short: "Plan, register and render addresses of secondary networks",
		Long:  "Work on pools, claims and addresses in YAML files, with the arithmetic that serves a cluster. No cluster is needed.",
	}
	cmd.AddCommand(w.newPlanCommand(), w.newReserveCommand(), w.newRenderCommand(), w.newFsckCommand())
	return cmd
}

func (w Wiring) poolOptions() ipam.Options { return ipam.Options{Now: w.Now, Rand: w.Rand} }

// input are the flags that every verb has.
type input struct {
	files  []string
	format string
}

func (in *input) addFlags(cmd *cobra.Command, format output.Format) {
	cmd.Flags().StringArrayVarP(&in.files, "filename", "f", nil, "file with pools, claims, addresses; - is standard input; may be repeated")
	cmd.Flags().StringVarP(&in.format, "output", "o", string(format), "output format: text, yaml or json")
}

// loadInventory is the one way from files to an inventory.
func (w Wiring) loadInventory(in input) (*manifest.Inventory, error) {
	if len(in.files) == 0 {
		return nil, fmt.Errorf("name the files with -f")
	}
	v := &manifest.Inventory{}
	for _, name := range in.files {
		if err := w.readFile(v, name); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (w Wiring) readFile(v *manifest.Inventory, name string) error {
	if name == "-" {
		return v.Read("standard input", w.In)
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read pools: %w", err)
	}
	defer f.Close()
	return v.Read(name, f)
}

// printAnswer prints in the format asked for.
func (w Wiring) printAnswer(in input, a output.Answer) error {
	f, err := output.Parse(in.format)
	if err != nil {
		return err
	}
	return output.Print(w.Out, f, a)
}
