package verb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Detached is a verb that runs as a transient unit, so that neither the end of a terminal nor of a connection ends it.
type Detached struct {
	Transients host.Transients
	Units      host.Units
	Files      host.Files
	// Unit is the unit's name, Args are the arguments of lca-cli.
	Unit, Description string
	Args              []string
	// Background has the unit give way to everything else on the node.
	Background bool
	// Operation is the one that the verb runs.
	Operation string
}

// Follow starts the unit, or joins the one that runs, and narrates the operation's journal until the unit has ended. When
// ctx ends the unit continues.
func (w Wiring) Follow(ctx context.Context, d Detached) (flow.Progress, error) {
	if err := w.launchUnit(ctx, d); err != nil {
		return flow.Progress{}, err
	}
	for seen := 0; ; {
		state, err := d.Units.State(ctx, d.Unit)
		if err != nil {
			return flow.Progress{}, fmt.Errorf("read the state of %s: %w", d.Unit, err)
		}
		entries, err := operation.ReadEntries(d.Files, d.Operation)
		if err != nil {
			return flow.Progress{}, err
		}
		for _, e := range entries[min(seen, len(entries)):] {
			if line := operation.Narrate(e); line != "" {
				w.Log.Info("progress", "what", line, "op", e.Operation)
			}
		}
		if seen = len(entries); !state.Running() {
			return flow.Fold(d.Operation, entries), nil
		}
		if err := w.Clock.Sleep(ctx, time.Second); err != nil {
			return flow.Progress{}, fmt.Errorf("%s continues as %s; see 'lca-cli status --watch': %w", d.Operation, d.Unit, err)
		}
	}
}

func (w Wiring) launchUnit(ctx context.Context, d Detached) error {
	state, err := d.Units.State(ctx, d.Unit)
	if err != nil {
		return fmt.Errorf("read the state of %s: %w", d.Unit, err)
	}
	if !state.Running() {
		if err := d.Transients.Forget(ctx, d.Unit); err != nil {
			return fmt.Errorf("clear the earlier %s: %w", d.Unit, err)
		}
	}
	err = d.Transients.Launch(ctx, host.Transient{
		Unit: d.Unit, Description: d.Description, Argv: append([]string{host.CLI}, d.Args...), Restart: true, Background: d.Background,
	})
	if err != nil && !errors.Is(err, host.ErrUnitRunning) {
		return fmt.Errorf("start %s: %w", d.Unit, err)
	}
	return nil
}
