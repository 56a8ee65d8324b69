package ipconfig

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// FinalError marks a failure that another try of the same verb would not mend; main turns
// it into host.FinalExit.
type FinalError struct{ Cause error }

func (e *FinalError) Error() string { return e.Cause.Error() }

func (e *FinalError) Unwrap() error { return e.Cause }

// act takes the lock, opens the operation and runs one of its flows.
func act(ctx context.Context, w Wiring, verb string, run func(context.Context, *ipconfig.Operation) error) error {
	node, with, err := w.Node(ctx, true)
	if err != nil {
		return err
	}
	release, err := takeNode(ctx, w, node, "ip-config "+verb)
	if err != nil {
		return err
	}
	defer release()
	op, err := Open(ctx, node, with)
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	w.Log.Info("starting", "verb", verb, "op", op.Request.OperationID, "stateroot", op.Runner.Stateroot)
	return verdict(w, verb, run(ctx, op))
}

// Open opens the operation on the node. Where there is none that can be told, another try is of no use.
func Open(ctx context.Context, node ipconfig.Node, with ipconfig.Instruments) (*ipconfig.Operation, error) {
	op, err := ipconfig.OpenOperation(ctx, node, with)
	if errors.Is(err, ipconfig.ErrNoRequest) || errors.Is(err, ipconfig.ErrBadRequest) {
		return nil, &FinalError{err}
	}
	return op, err
}

// verdict says whether to try again: leaving for a reboot is success, and what was refused, taken
// back or given up is over.
func verdict(w Wiring, verb string, err error) error {
	var failed *flow.FailedError
	switch {
	case err == nil:
		w.Log.Info("finished", "verb", verb)
		return nil
	case errors.Is(err, flow.ErrLeaving):
		w.Log.Info("the node is going down for its reboot", "verb", verb)
		return nil
	case errors.Is(err, ipconfig.ErrRefused), errors.As(err, &failed) && (failed.TakenBack || errors.Is(err, flow.ErrGivenUp)):
		return &FinalError{err}
	}
	return err
}

func prePivot(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "pre-pivot", Args: cobra.NoArgs,
		Short: "Prepare the new stateroot and reboot into it (run by " + host.UnitPrePivot + ")",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return act(cmd.Context(), w, "pre-pivot", func(ctx context.Context, o *ipconfig.Operation) error { return o.PrePivot(ctx) })
		},
	}
}

func postPivot(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "post-pivot", Args: cobra.NoArgs,
		Short: "Finish the change in the new stateroot (run by " + host.UnitIPConfiguration + ")",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return act(cmd.Context(), w, "post-pivot", func(ctx context.Context, o *ipconfig.Operation) error { return o.PostPivot(ctx) })
		},
	}
}

func rollback(w Wiring) *cobra.Command {
	var stateroot string
	cmd := &cobra.Command{
		Use: "rollback", Args: cobra.NoArgs,
		Short: "Reboot into the old stateroot (run by " + host.UnitRollback + ")",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := StopPostPivot(cmd.Context(), w, stateroot); err != nil {
				return err
			}
			return act(cmd.Context(), w, "rollback", func(ctx context.Context, o *ipconfig.Operation) error {
				return o.RollBack(ctx, stateroot, ipconfig.CauseRequested)
			})
		},
	}
	cmd.Flags().StringVar(&stateroot, "stateroot", "", "the stateroot to go back to (default: the one the change was made from)")
	return cmd
}

// StopPostPivot ends a post-pivot under way, which would otherwise hold the lock
// against the rollback. It is left alone where there is nothing to go back to.
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
		return verdict(w, "rollback", err)
	}
	if err := node.Units.Stop(ctx, host.UnitIPConfiguration); err != nil {
		return fmt.Errorf("stop %s: %w", host.UnitIPConfiguration, err)
	}
	return nil
}

func cleanup(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "cleanup", Args: cobra.NoArgs,
		Short: "Remove what is not booted, and with it the way back (run by " + host.UnitCleanup + ")",
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
	if err := node.Units.Stop(ctx, host.UnitPrePivot); err != nil {
		return fmt.Errorf("stop %s: %w", host.UnitPrePivot, err)
	}
	release, err := takeNode(ctx, w, node, "ip-config cleanup")
	if err != nil {
		return err
	}
	defer release()
	op, err := ipconfig.OpenOperation(ctx, node, with)
	if errors.Is(err, ipconfig.ErrNoRequest) || errors.Is(err, ipconfig.ErrBadRequest) {
		return verdict(w, "cleanup", ipconfig.CleanUpBare(ctx, node))
	}
	if err != nil {
		return fmt.Errorf("cleanup: %w", err)
	}
	return verdict(w, "cleanup", op.CleanUp(ctx))
}
