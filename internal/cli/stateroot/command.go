// Package stateroot holds the verbs of "lca-cli stateroot": bootable copies of the running system. cmd/lca-cli builds
// them; they call the snapshot domain and must not import an adapter.
package stateroot

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/snapshot"
)

// Wiring is what main gives the verbs.
type Wiring struct {
	verb.Wiring
	// Node builds the ports. acting: the verb changes the node's sysroot.
	Node func(ctx context.Context, acting bool) (snapshot.Ports, operation.Instruments, error)
	// Kept names the stateroots that another operation needs.
	Kept func(ctx context.Context, n snapshot.Ports) ([]string, error)
	// NewID names a new operation.
	NewID func() string
}

// Command is "stateroot" with its verbs.
func Command(w Wiring) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stateroot",
		Short: "List, copy and remove the systems that this node can boot",
		Long: "List, copy and remove the systems that this node can boot. A copy made with clone is a way back before an upgrade\n" +
			"or a change by hand: see docs/operate/copy-a-stateroot.md.",
	}
	cmd.AddCommand(newListCommand(w), newCloneCommand(w), abort(w), newRemoveCommand(w))
	return cmd
}

func newCloneCommand(w Wiring) *cobra.Command {
	var run bool
	cmd := &cobra.Command{
		Use: "clone NAME", Args: cobra.ExactArgs(1),
		Short: "Copy the running system into stateroot NAME (runs as " + snapshot.Unit + ")",
		Long: "Copy the running system into stateroot NAME, which boots like this one. It runs as " + snapshot.Unit + ",\n" +
			"which continues if this command is interrupted; 'lca-cli status --watch' shows it.\n\n" +
			"The cluster is down while the last differences are copied.\n\n" +
			"To boot the copy: ostree admin set-default INDEX (see 'ostree admin status'), then reboot.",
		Example: "  lca-cli stateroot clone before-upgrade",
		RunE: func(cmd *cobra.Command, args []string) error {
			if run {
				return cloneHere(cmd.Context(), w)
			}
			return cloneDetached(cmd.Context(), w, args[0])
		},
	}
	verb.AddRunFlag(cmd, &run)
	return cmd
}

// cloneHere runs the steps.
func cloneHere(ctx context.Context, w Wiring) error {
	node, with, err := w.Node(ctx, true)
	if err != nil {
		return err
	}
	return w.RunHere(ctx, snapshot.FlowClone, "stateroot clone", func(ctx context.Context) error {
		return snapshot.Run(ctx, node, with)
	})
}

// cloneDetached stores the request and has the unit carry it out.
func cloneDetached(ctx context.Context, w Wiring, name string) error {
	node, _, err := w.Node(ctx, false)
	if err != nil {
		return err
	}
	r, err := snapshot.Prepare(ctx, node, w.NewID(), name)
	if err != nil {
		return w.Verdict("stateroot clone", err)
	}
	err = w.CarryOut(ctx, verb.Errand{
		Kind: snapshot.Kind(node).Facts(), Node: node.Node, Operation: r.OperationID,
		Description: "Lifecycle Agent: copy the running system", Args: []string{"stateroot", "clone", name, "--run"},
	}, "copy the system into stateroot "+name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.Out, "stateroot %s is a bootable copy of %s\n", r.New, r.Old)
	return err
}

func abort(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "abort", Args: cobra.NoArgs, Short: "Give up a copy that is unfinished, and remove it",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			node, with, err := w.Node(ctx, true)
			if err != nil {
				return err
			}
			r, err := snapshot.Kind(node).Read(node.Files)
			if err != nil {
				return w.Verdict("stateroot abort", err)
			}
			release, err := w.TakeFromUnit(ctx, node.Units, snapshot.Unit, snapshot.FlowClone, "stateroot abort")
			if err != nil {
				return err
			}
			defer release()
			kept, err := snapshot.Abort(ctx, node, with)
			if errors.Is(err, operation.ErrRefused) { // it has ended before: its unit finished it, or undid it when it was stopped
				var entries []flow.Entry
				entries, err = operation.ReadEntries(node.Files, r.OperationID)
				kept = flow.Fold(r.OperationID, entries).Flow(snapshot.FlowClone).Finished
			}
			switch {
			case err != nil:
				return w.Verdict("stateroot abort", err)
			case kept:
				_, err = fmt.Fprintf(w.Out, "the copy %s is complete and stays: 'lca-cli stateroot remove %s' removes it\n", r.New, r.New)
			default:
				_, err = fmt.Fprintf(w.Out, "the copy %s is given up\n", r.New)
			}
			return err
		},
	}
}

func newRemoveCommand(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Args: cobra.ExactArgs(1),
		Short: "Remove stateroot NAME, unless it runs, boots next or another operation needs it",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			node, _, err := w.Node(ctx, true)
			if err != nil {
				return err
			}
			release, err := w.Take(ctx, "stateroot-remove", "stateroot remove")
			if err != nil {
				return err
			}
			defer release()
			kept, err := w.Kept(ctx, node)
			if err != nil {
				return err
			}
			return w.Verdict("stateroot remove", snapshot.Remove(ctx, node, args[0], kept))
		},
	}
}

func newListCommand(w Wiring) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Args: cobra.NoArgs, Short: "List the stateroots of this node",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			node, _, err := w.Node(cmd.Context(), false)
			if err != nil {
				return err
			}
			all, err := listStateroots(cmd.Context(), node)
			if err != nil {
				return err
			}
			return output.Print(w.Out, f, all)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	return cmd
}
