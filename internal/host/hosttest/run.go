package hosttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// errStays is how a built-in command says that its process goes on.
var errStays = errors.New("process stays")

func builtins() map[string]Command {
	return map[string]Command{
		"true":  func(context.Context, []string) error { return nil },
		"false": func(context.Context, []string) error { return errors.New("exit status 1") },
		"sleep": func(context.Context, []string) error { return errStays },
	}
}

// startUnit is a start job. The lock is not held: programs make port calls.
func (n *Node) startUnit(ctx context.Context, unit string) error {
	file, begun, err := n.beginStart(unit)
	if err != nil || !begun {
		return err
	}
	for _, other := range append(file.words("Unit.Requires"), file.words("Unit.Wants")...) {
		if err := n.startUnit(ctx, other); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n.endStart(unit, file, fmt.Errorf("dependency %s: %w", other, err))
		}
	}
	return n.endStart(unit, file, n.execute(ctx, unit, file))
}

// beginStart marks the unit as activating, unless there is nothing to start.
func (n *Node) beginStart(unit string) (file unitFile, begun bool, err error) {
	n.lock()
	defer n.mu.Unlock()
	if n.unitState(unit).Running() {
		return file, false, nil
	}
	file, ok := n.loadUnit("", unit)
	if !ok {
		return file, false, fmt.Errorf("start %s: unit not found: %w", unit, fs.ErrNotExist)
	}
	if file.masked {
		return file, false, fmt.Errorf("start %s: %w", unit, errMasked)
	}
	run := n.running[unit]
	if run == nil {
		run = &unitRun{}
		n.running[unit] = run
	}
	run.state = host.UnitState{Active: "activating", Sub: "start", Result: "success"}
	return file, true, nil
}

// execute runs what the unit does.
func (n *Node) execute(ctx context.Context, unit string, file unitFile) error {
	n.lock()
	program, command := n.programs[unit], Command(nil)
	argv := strings.Fields(strings.TrimLeft(file.get("Service.ExecStart"), "-@+!:"))
	if len(argv) > 0 {
		command = n.command(argv)
	}
	n.mu.Unlock()
	switch {
	case program != nil:
		return program(ctx)
	case command != nil:
		return command(ctx, argv)
	}
	return nil
}

// endStart records how the start job ended.
func (n *Node) endStart(unit string, file unitFile, err error) error {
	n.lock()
	defer n.mu.Unlock()
	run := n.running[unit]
	if run == nil {
		return nil // stopped from within
	}
	stays := !file.oneshot() || file.get("Service.RemainAfterExit") == "yes"
	run.finish(err, stays)
	if err != nil && !errors.Is(err, errStays) {
		return fmt.Errorf("start %s: %w", unit, err)
	}
	return nil
}

func (r *unitRun) finish(err error, stays bool) {
	s := &r.state
	switch {
	case errors.Is(err, errStays) || err == nil && stays:
		s.Active, s.Sub, s.Result = "active", "running", "success"
	case err == nil:
		s.Active, s.Sub, s.Result = "inactive", "dead", "success"
	case errors.Is(err, context.DeadlineExceeded):
		s.Active, s.Sub, s.Result = "failed", "failed", "timeout"
	default:
		s.Active, s.Sub, s.Result, s.ExitCode = "failed", "failed", "exit-code", 1
	}
}

// runTransient runs one launched unit to its end.
func (n *Node) runTransient(ctx context.Context, unit string) {
	n.lock()
	run := n.running[unit]
	if run == nil || run.transient == nil || !run.state.Running() {
		n.mu.Unlock()
		return
	}
	do := n.command(run.transient.Argv)
	n.mu.Unlock()
	err := fmt.Errorf("%s: command not found", run.transient.Argv[0])
	if do != nil {
		if run.transient.Timeout > 0 {
			limited, cancel := context.WithTimeout(ctx, run.transient.Timeout)
			defer cancel()
			ctx = limited
		}
		err = do(ctx, run.transient.Argv)
	}
	n.lock()
	defer n.mu.Unlock()
	run.finish(err, false)
	if err == nil && n.running[unit] == run {
		delete(n.running, unit) // systemd forgets what ended well
	}
}
