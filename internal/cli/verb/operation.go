package verb

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// RunHere takes the node's lock as the holder and runs a flow in this process, as its unit does.
func (w Wiring) RunHere(ctx context.Context, holder, verb string, run func(context.Context) error) error {
	release, err := w.Take(ctx, holder, verb)
	if err != nil {
		return err
	}
	defer release()
	return w.Verdict(verb, run(ctx))
}

// TakeFromUnit takes the node's lock from the unit that runs an operation, for the verb that aborts it: the unit is stopped, and rolls
// back what it can when it is. The log says what is waited for.
func (w Wiring) TakeFromUnit(ctx context.Context, units host.Units, unit, holder, verb string) (release func(), err error) {
	if state, err := units.State(ctx, unit); err == nil && state.Running() {
		w.Log.Info("stopping the unit; it rolls back what it can", "verb", verb, "unit", unit)
	}
	if err := units.Stop(ctx, unit); err != nil {
		return nil, fmt.Errorf("stop %s: %w", unit, err)
	}
	return w.Take(ctx, holder, verb)
}

// Errand is what an operation whose request is stored is carried out with.
type Errand struct {
	Kind operation.Facts
	Node host.Node
	// Operation is the id in the request, Args what the kind's unit runs lca-cli with.
	Operation, Description string
	Args                   []string
	// Background has the unit give way to everything else on the node.
	Background bool
}

// CarryOut has the kind's unit carry out the request, and follows it to its end. what begins the error of one that failed.
func (w Wiring) CarryOut(ctx context.Context, e Errand, what string) error {
	p, err := w.Follow(ctx, Detached{
		Transients: e.Node.Transients, Units: e.Node.Units, Files: e.Node.Files, Unit: e.Kind.Unit, Operation: e.Operation,
		Description: e.Description, Args: e.Args, Background: e.Background,
	})
	if err != nil {
		return err
	}
	if err := e.Kind.Failure(p); err != nil {
		return &FinalError{Cause: fmt.Errorf("%s: %w", what, err)}
	}
	return nil
}

// AddRunFlag adds the hidden --run, with which a unit runs the steps of a verb in its own process.
func AddRunFlag(cmd *cobra.Command, run *bool) {
	cmd.Flags().BoolVar(run, "run", false, "run the steps in this process, as the unit does")
	_ = cmd.Flags().MarkHidden("run")
}
