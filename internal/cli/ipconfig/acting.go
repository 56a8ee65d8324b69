package ipconfig

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// runFlow takes the lock, opens the operation and runs one of its flows.
func runFlow(ctx context.Context, w Wiring, name string, run func(context.Context, *change.Operation) error) error {
	node, with, err := w.Node(ctx, true)
	if err != nil {
		return err
	}
	release, err := w.takeLock(ctx, node, "ip-config "+name)
	if err != nil {
		return err
	}
	defer release()
	op, err := Open(ctx, node, with)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	op.EnsureRecord()
	w.Log.Info("starting", "verb", name, "op", op.ID, "stateroot", op.Runner.Stateroot)
	return w.Verdict(name, run(ctx, op))
}

// Open opens the operation on the node. Where there is none that can be read, the error is final.
func Open(ctx context.Context, node change.Ports, with operation.Instruments) (*change.Operation, error) {
	op, err := change.OpenOperation(ctx, node, with)
	if errors.Is(err, ipconfig.ErrNoRequest) || errors.Is(err, ipconfig.ErrBadRequest) {
		return nil, &verb.FinalError{Cause: err}
	}
	return op, err
}

// takeLock takes the node's lock for a verb.
func (w Wiring) takeLock(ctx context.Context, node change.Ports, name string) (release func(), err error) {
	return w.Take(ctx, change.HolderName(node.Files), name)
}

func newPrePivotCommand(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "pre-pivot", Args: cobra.NoArgs,
		Short: "Prepare the new stateroot and reboot into it (run by " + ipconfig.UnitPrePivot + ")",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runFlow(cmd.Context(), w, "pre-pivot", func(ctx context.Context, o *change.Operation) error { return o.PrePivot(ctx) })
		},
	}
}

func newPostPivotCommand(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "post-pivot", Args: cobra.NoArgs,
		Short: "Finish the change in the new stateroot (run by " + ipconfig.UnitIPConfiguration + ")",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runFlow(cmd.Context(), w, "post-pivot", func(ctx context.Context, o *change.Operation) error { return o.PostPivot(ctx) })
		},
	}
}

func newRollbackCommand(w Wiring) *cobra.Command {
	var stateroot string
	cmd := &cobra.Command{
		Use: "rollback", Args: cobra.NoArgs,
		Short: "Reboot into the old stateroot (run by " + ipconfig.UnitRollback + ")",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := StopPostPivot(cmd.Context(), w, stateroot); err != nil {
				return err
			}
			return runFlow(cmd.Context(), w, "rollback", func(ctx context.Context, o *change.Operation) error {
				return o.RollBack(ctx, stateroot, ipconfig.CauseRequested)
			})
		},
	}
	cmd.Flags().StringVar(&stateroot, "stateroot", "", "stateroot to boot (default: the one from which the change was made)")
	return cmd
}

// StopPostPivot ends a post-pivot under way, which would otherwise hold the lock against the rollback. It leaves
// post-pivot running where there is nothing to go back to.
func StopPostPivot(ctx context.Context, w Wiring, to string) error {
	node, with, err := w.Node(ctx, true)
	if err != nil {
		return err
	}
	op, err := Open(ctx, node, with)
	if err != nil {
		return fmt.Errorf("rollback: %w", err)
	}
	if err := op.CanRollBack(ctx, to); err != nil {
		return w.Verdict("rollback", err)
	}
	if err := node.Units.Stop(ctx, ipconfig.UnitIPConfiguration); err != nil {
		return fmt.Errorf("stop %s: %w", ipconfig.UnitIPConfiguration, err)
	}
	return nil
}

func newCleanupCommand(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "cleanup", Args: cobra.NoArgs,
		Short: "Remove the other stateroot, and with it the way back (run by " + ipconfig.UnitCleanup + ")",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cleanUp(cmd.Context(), w)
		},
	}
}

func cleanUp(ctx context.Context, w Wiring) error {
	node, with, err := w.Node(ctx, true)
	if err != nil {
		return err
	}
	if err := node.Units.Stop(ctx, ipconfig.UnitPrePivot); err != nil {
		return fmt.Errorf("stop %s: %w", ipconfig.UnitPrePivot, err)
	}
	release, err := w.takeLock(ctx, node, "ip-config cleanup")
	if err != nil {
		return err
	}
	defer release()
	op, err := change.OpenOperation(ctx, node, with)
	if errors.Is(err, ipconfig.ErrNoRequest) || errors.Is(err, ipconfig.ErrBadRequest) {
		return w.Verdict("cleanup", change.CleanUpBare(ctx, node))
	}
	if err != nil {
		return fmt.Errorf("cleanup: %w", err)
	}
	op.EnsureRecord()
	return w.Verdict("cleanup", op.CleanUp(ctx))
}
