package systemd

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Transients is the node's host.Transients. What is launched waits for Settle.
func (n *Manager) Transients() host.Transients { return transients{n} }

type transients struct{ n *Manager }

func (t transients) Launch(_ context.Context, want host.Transient) error {
	n := t.n
	n.Enter()
	defer n.Unlock()
	if len(want.Argv) == 0 {
		return fmt.Errorf("launch %s: nothing to run", want.Unit)
	}
	if run := n.runs[want.Unit]; run != nil && run.state.Running() {
		return fmt.Errorf("launch %s: %w", want.Unit, host.ErrUnitRunning)
	} else if run != nil && run.transient != nil {
		return fmt.Errorf("launch %s: a failed unit of that name is still remembered", want.Unit)
	}
	if err := n.Change("transients.launch", want.Unit); err != nil {
		return err
	}
	want.Argv, want.Env = append([]string(nil), want.Argv...), append([]string(nil), want.Env...)
	n.runs[want.Unit] = &unitRun{
		transient: &want,
		state:     host.UnitState{Active: "activating", Sub: "start", Result: "success"},
	}
	n.queue = append(n.queue, want.Unit)
	return nil
}

func (t transients) Forget(_ context.Context, unit string) error {
	n := t.n
	n.Enter()
	defer n.Unlock()
	run := n.runs[unit]
	if run == nil || run.state.Active != "failed" {
		return nil
	}
	if err := n.Change("transients.forget", unit); err != nil {
		return err
	}
	if run.transient != nil {
		delete(n.runs, unit)
	} else {
		run.state.Active, run.state.Sub, run.state.Result, run.state.ExitCode = "inactive", "dead", "success", 0
	}
	return nil
}
