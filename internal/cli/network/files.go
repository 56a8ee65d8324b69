package network

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/policy"
)

func (w Documents) newFormatCommand() *cobra.Command {
	var f form
	cmd := &cobra.Command{
		Use: "format [FILE]", Aliases: []string{"f", "fmt"}, Args: cobra.MaximumNArgs(1),
		Short: "Print a document in its one canonical form",
		Long: "Print a document in its one canonical form: keys and interfaces in a fixed order, addresses in their shortest spelling.\n" +
			"Without a file, or with -, standard input is read.",
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := w.readDocument(append(args, "-")[0])
			if err != nil {
				return err
			}
			return w.printDocument(f, d.Canonical())
		},
	}
	f.addFlags(cmd)
	return cmd
}

// addCurrentFlag adds the flag that names the state to start from.
func addCurrentFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "current", "c", "", "file with the current state of the node, as 'lca-cli network show' prints it")
}

func (w Documents) newDiffCommand() *cobra.Command {
	var f form
	var now string
	cmd := &cobra.Command{
		Use: "diff FILE [CURRENT]", Aliases: []string{"gd", "gen-diff"}, Args: cobra.RangeArgs(1, 2),
		Short: "Print the part of a document that applying it to a node in the current state would change",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				now = args[1]
			}
			before, want, err := w.readPair(args[0], now)
			if err != nil {
				return fmt.Errorf("diff: %w", err)
			}
			return w.printDocument(f, netstate.Diff(before, want))
		},
	}
	f.addFlags(cmd)
	addCurrentFlag(cmd, &now)
	return cmd
}

func (w Documents) readPair(file, now string) (before, want netstate.Document, err error) {
	if before, err = w.readCurrent(now); err != nil {
		return before, want, err
	}
	want, err = w.readDesired(file, func() (netstate.Document, error) { return before, nil })
	return before, want, err
}

func (w Documents) newRevertCommand() *cobra.Command {
	var f form
	var now string
	cmd := &cobra.Command{
		Use: "revert FILE", Aliases: []string{"gr", "gen-revert"}, Args: cobra.ExactArgs(1),
		Short: "Print the document that undoes a document",
		RunE: func(_ *cobra.Command, args []string) error {
			before, want, err := w.readPair(args[0], now)
			if err != nil {
				return fmt.Errorf("revert: %w", err)
			}
			return w.printDocument(f, netstate.Revert(want, before))
		},
	}
	f.addFlags(cmd)
	addCurrentFlag(cmd, &now)
	return cmd
}

func (w Documents) newPolicyCommand() *cobra.Command {
	var f form
	var now, captured, keep string
	cmd := &cobra.Command{
		Use: "policy FILE", Aliases: []string{"p"}, Args: cobra.ExactArgs(1),
		Short: "Print the document that a policy means for a node",
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := w.readFile(args[0])
			if err != nil {
				return err
			}
			p, err := policy.Read(data)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			cache, err := w.readCaptured(captured)
			if err != nil {
				return err
			}
			var before netstate.Document
			if len(p.Captures) > 0 {
				if before, err = w.readCurrent(now); err != nil {
					return err
				}
			}
			r, err := policy.Resolve(p, before, cache)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := keepCaptured(keep, r.Captured); err != nil {
				return err
			}
			return w.printDocument(f, r.Desired)
		},
	}
	f.addFlags(cmd)
	addCurrentFlag(cmd, &now)
	cmd.Flags().StringVar(&captured, "captured", "", "file with what the captures selected before; it is used again")
	cmd.Flags().StringVarP(&keep, "output-captured", "o", "", "file to write what the captures selected")
	return cmd
}

// selected is one captured state in a file, as nmstatectl writes it.
type selected struct {
	State any `json:"state"`
}

func (w Documents) readCaptured(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	data, err := w.readFile(file)
	if err != nil {
		return nil, err
	}
	var all map[string]selected
	if err := yaml.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s: not the states that captures selected: %w", file, err)
	}
	out := make(map[string]string, len(all))
	for name, s := range all {
		text, err := yaml.Marshal(s.State)
		if err != nil {
			return nil, fmt.Errorf("%s: capture %s: %w", file, name, err)
		}
		out[name] = string(text)
	}
	return out, nil
}

func keepCaptured(file string, captured map[string]string) error {
	if file == "" {
		return nil
	}
	all := make(map[string]selected, len(captured))
	for name, text := range captured {
		var s selected
		if err := yaml.Unmarshal([]byte(text), &s.State); err != nil {
			return fmt.Errorf("keep what capture %s selected: %w", name, err)
		}
		all[name] = s
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		return fmt.Errorf("keep what was captured: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("keep what was captured: %w", err)
	}
	return nil
}
