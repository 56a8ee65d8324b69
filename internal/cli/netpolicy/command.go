// Package netpolicy holds those verbs of "lca-cli network" that concern policies on this node: enact and recover, which
// units run, and history and undo, which administrators run. cmd/lca-cli adds them below "network"; they call the netpolicy
// domain and must not import an adapter.
package netpolicy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Wiring is what main gives the verbs.
type Wiring struct {
	verb.Wiring
	// Node builds the ports.
	Node func(ctx context.Context) (netpolicy.Ports, operation.Instruments, error)
	// NewID names a new operation.
	NewID func() string
	// RecoverFiles settles an interrupted change before NetworkManager runs.
	RecoverFiles func(ctx context.Context) error
}

// Commands are the verbs, for "network".
func Commands(w Wiring) []*cobra.Command {
	return []*cobra.Command{newEnactCommand(w), newRecoverCommand(w), newHistoryCommand(w), newUndoCommand(w)}
}

func newEnactCommand(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "enact", Args: cobra.NoArgs, Hidden: true,
		Short: "Carry out the requested enactment of a policy, as " + netpolicy.Unit + " does",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			node, with, err := w.Node(ctx)
			if err != nil {
				return err
			}
			release, err := w.Take(ctx, netpolicy.FlowEnact, "network enact")
			if err != nil {
				return err
			}
			defer release()
			err = netpolicy.Run(ctx, node, with)
			if errors.Is(err, netpolicy.ErrNoRequest) {
				return nil // an earlier run ended, and was killed before it could say so
			}
			return w.Verdict("network enact", err)
		},
	}
}

func newRecoverCommand(w Wiring) *cobra.Command {
	var boot bool
	cmd := &cobra.Command{
		Use: "recover", Args: cobra.NoArgs,
		Short: "Settle a change of the network that was interrupted",
		Long: "Settle a change of the network that was interrupted: a change that was not committed is rolled back, a committed one is\n" +
			"finished. A node without an interrupted change is left alone.\n\n" +
			"With --before-networkmanager it puts profiles on disk in order and nothing else. " + netpolicy.RecoverUnit + " runs\n" +
			"that at boot, so that NetworkManager finds the profiles of one network or of the other, never of both.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if boot {
				return w.RecoverFiles(cmd.Context())
			}
			node, _, err := w.Node(cmd.Context())
			if err != nil {
				return err
			}
			if err := node.Network.Recover(cmd.Context()); err != nil {
				return fmt.Errorf("network recover: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&boot, "before-networkmanager", false, "put profiles on disk in order; NetworkManager does not run yet")
	return cmd
}

func newUndoCommand(w Wiring) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "undo", Args: cobra.NoArgs,
		Short: "Undo the latest change that a policy made to this node's network",
		Long: "Undo the latest change that a policy made to this node's network, or the one that --operation names (see\n" +
			"'lca-cli network history'). It runs as " + netpolicy.Unit + " under the same probes as the change itself.\n\n" +
			"The policy stays undone on this node until it is edited.",
		RunE: func(cmd *cobra.Command, _ []string) error { return undoChange(cmd.Context(), w, to) },
	}
	cmd.Flags().StringVar(&to, "operation", "", "undo the change of this operation")
	return cmd
}

func undoChange(ctx context.Context, w Wiring, id string) error {
	node, _, err := w.Node(ctx)
	if err != nil {
		return err
	}
	here, err := operation.LocateAny(ctx, node.Files, node.Deployments, node.Power)
	if err != nil {
		return fmt.Errorf("find the stateroot whose changes can be undone: %w", err)
	}
	c, err := record.Store{Files: node.Files}.Undoable(id, here.Booted.Stateroot)
	if errors.Is(err, record.ErrElsewhere) {
		return w.Verdict("network undo", operation.Refuse("change %s was made in %s, not in %s, which runs: what it would restore is "+
			"another network's", c.Operation, inWords(c.Stateroot), here.Booted.Stateroot))
	}
	if errors.Is(err, record.ErrNone) {
		return w.Verdict("network undo", operation.Refuse("no change of this node's network can be undone; see 'lca-cli network history'"))
	}
	if err != nil {
		return err
	}
	if c.Undone != "" {
		return w.Verdict("network undo", operation.Refuse("change %s was undone by operation %s", c.Operation, c.Undone))
	}
	r := netpolicy.Request{OperationID: w.NewID(), Action: netpolicy.ActionUndo, Policy: c.Policy, Generation: c.Generation,
		Document: c.Revert, Undoes: c.Operation}
	if err := netpolicy.Prepare(ctx, operation.Intake{Files: node.Files, Boots: node.Power, Log: node.Log}, r); err != nil {
		return w.Verdict("network undo", err)
	}
	err = w.CarryOut(ctx, verb.Errand{
		Kind: netpolicy.Kind(node).Facts(), Node: node.Node, Operation: r.OperationID,
		Description: "Lifecycle Agent: undo a change of the network", Args: []string{"network", "enact"},
	}, fmt.Sprintf("undo change %s of policy %s", c.Operation, c.Policy))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.Out, "change %s of policy %s is undone\n", c.Operation, c.Policy)
	return err
}

func inWords(stateroot string) string {
	if stateroot == "" {
		return "a stateroot that is not on record"
	}
	return "stateroot " + stateroot
}

// History is the answer of "network history".
type History struct {
	Changes []record.Change `json:"changes"`
}

// Text implements output.Answer.
func (h History) Text(out io.Writer) error {
	tw := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "OPERATION\tTIME\tPOLICY\tGENERATION\tSTATE")
	for _, c := range h.Changes {
		state := "in force or superseded"
		switch {
		case c.Undone != "":
			state = "undone by " + c.Undone
		case c.Undoes != "":
			state = "undid " + c.Undoes
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\n", c.Operation, c.Time.Format(time.RFC3339), c.Policy, c.Generation, state)
	}
	return tw.Flush()
}

func newHistoryCommand(w Wiring) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "history", Args: cobra.NoArgs, Short: "List the changes that policies made to this node's network, newest first",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			node, _, err := w.Node(cmd.Context())
			if err != nil {
				return err
			}
			all, err := record.Store{Files: node.Files}.History()
			if err != nil {
				return err
			}
			return output.Print(w.Out, f, History{all})
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	return cmd
}
