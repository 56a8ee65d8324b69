package network

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Plan is what applying a document would do.
type Plan struct {
	// Changes are the steps in their order; none means that all is in place.
	Changes []host.NetworkChange `json:"changes"`
	// Missing is what of the document is not so now.
	Missing []netstate.Mismatch `json:"missing"`
	// Document holds what differs, Revert what takes it back.
	Document netstate.Document `json:"document"`
	Revert   netstate.Document `json:"revert"`
}

// Text prints the plan for a person.
func (p Plan) Text(w io.Writer) error {
	if len(p.Changes)+len(p.Missing) == 0 {
		_, err := fmt.Fprintln(w, "Everything is in place; applying the document touches nothing.")
		return err
	}
	var b strings.Builder
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "%-15s  %s", c.Interface, meaning[c.Disruption])
		if len(c.Keys) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(c.Keys, ", "))
		}
		b.WriteString("\n")
	}
	if len(p.Missing) > 0 {
		b.WriteString("\nNow:\n")
	}
	for _, m := range p.Missing {
		fmt.Fprintf(&b, "  %s\n", m)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var meaning = map[host.Disruption]string{
	host.DisruptionNone:       "the profile changes, nothing else",
	host.DisruptionInPlace:    "changes while the link stays up",
	host.DisruptionCreate:     "comes up",
	host.DisruptionReactivate: "loses its addresses for a moment",
	host.DisruptionRecreate:   "is deleted and made anew",
	host.DisruptionDown:       "goes down",
}

func (w Wiring) newPlanCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "plan FILE", Args: cobra.ExactArgs(1),
		Short: "Say what applying a document or policy would do to this node, and touch nothing",
		RunE: func(cmd *cobra.Command, args []string) error {
			form, err := output.Parse(format)
			if err != nil {
				return err
			}
			p, err := w.makePlan(cmd, args[0])
			if err != nil {
				return fmt.Errorf("plan: %w", err)
			}
			return output.Print(w.Out, form, p)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "output format: text, yaml or json")
	return cmd
}

func (w Wiring) makePlan(cmd *cobra.Command, file string) (Plan, error) {
	ctx := cmd.Context()
	node, err := w.Node(ctx)
	if err != nil {
		return Plan{}, err
	}
	now, err := node.Network.Observe(ctx)
	if err != nil {
		return Plan{}, err
	}
	want, err := w.documents().readDesired(file, func() (netstate.Document, error) { return now, nil })
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Missing: netstate.Compare(want, now), Document: netstate.Diff(now, want).Redacted(), Revert: netstate.Revert(want, now)}
	p.Changes, err = node.Planner.Plan(ctx, want)
	return p, err
}
