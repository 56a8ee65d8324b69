package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// restartLimit is how often a unit that failed is started again in one boot.
const restartLimit = 10

func builtins() map[string]Command {
	return map[string]Command{
		"true":  func(context.Context, []string) error { return nil },
		"false": func(context.Context, []string) error { return &Exit{1, errors.New("false")} },
		"sleep": func(context.Context, []string) error { return ErrStays },
		"sh -c": func(_ context.Context, argv []string) error {
			var code int
			if _, err := fmt.Sscanf(argv[len(argv)-1], "exit %d", &code); err != nil {
				return fmt.Errorf("the fake shell knows only exit: %w", err)
			}
			if code == 0 {
				return nil
			}
			return &Exit{code, errors.New("exit")}
		},
	}
}

// StartUnit is a start job. The lock is not held: programs make port calls.
func (n *Manager) StartUnit(ctx context.Context, unit string) error {
	file, begun, err := n.beginStart(unit)
	if err != nil || !begun {
		return err
	}
	for _, other := range append(file.words("Unit.Requires"), file.words("Unit.Wants")...) {
		if err := n.StartUnit(ctx, other); err != nil && slices.Contains(file.words("Unit.Requires"), other) {
			return n.endStart(unit, fmt.Errorf("dependency %s: %w", other, err))
		}
	}
	return n.endStart(unit, n.execute(ctx, unit, file))
}

// beginStart marks the unit as activating, unless there is nothing to start.
func (n *Manager) beginStart(unit string) (file unitFile, begun bool, err error) {
	n.Enter()
	defer n.Unlock()
	if n.UnitState(unit).Running() {
		return file, false, nil
	}
	file, ok := n.loadUnit("", unit)
	if !ok {
		return file, false, fmt.Errorf("start %s: unit not found: %w", unit, fs.ErrNotExist)
	}
	if file.masked {
		return file, false, fmt.Errorf("start %s: %w", unit, errMasked)
	}
	for _, p := range file.keys["Unit.ConditionPathExists"] {
		not := strings.HasPrefix(p, "!")
		if _, _, err := n.Look(strings.TrimPrefix(p, "!"), true); (err == nil) == not {
			return file, false, nil // systemd skips it, which is no failure
		}
	}
	n.activating(unit)
	return file, true, nil
}

func (n *Manager) activating(unit string) {
	n.started(unit)
	run := n.runs[unit]
	if run == nil {
		run = &unitRun{}
		n.runs[unit] = run
	}
	run.state = host.UnitState{Active: "activating", Sub: "start", Result: "success"}
}

// execute runs what the unit does. A program that is killed takes only its unit with it.
func (n *Manager) execute(ctx context.Context, unit string, file unitFile) error {
	n.Enter()
	do, command := n.programs[unit], Command(nil)
	argv := strings.Fields(strings.TrimLeft(file.get("Service.ExecStart"), "-@+!:"))
	if len(argv) > 0 {
		command = n.command(argv)
	}
	n.Unlock()
	switch {
	case do != nil:
	case command != nil:
		do = func(ctx context.Context) error { return command(ctx, argv) }
	default:
		return nil
	}
	return n.process(ctx, do)
}

// process runs a program to its end; Killed is an error, the node's own end propagates.
func (n *Manager) process(ctx context.Context, do Program) (err error) {
	defer func() {
		end := machine.Caught(recover())
		switch {
		case errors.Is(end, machine.Killed):
			n.Bury()
			err = machine.Killed
		case end != nil:
			panic(end)
		}
	}()
	return do(ctx)
}

// endStart records how the start job ended.
func (n *Manager) endStart(unit string, err error) error {
	n.Enter()
	defer n.Unlock()
	run := n.runs[unit]
	if run == nil || !run.state.Running() {
		return nil // stopped from within
	}
	file, _ := n.loadUnit("", unit)
	n.finish(unit, run, err, !file.oneshot() || file.get("Service.RemainAfterExit") == "yes")
	if err != nil && !errors.Is(err, ErrStays) {
		if file.restarts(run.state) {
			n.restartLater(unit, run)
		}
		return fmt.Errorf("start %s: %w", unit, err)
	}
	return nil
}

// finish turns a program's end into the unit's state.
func (n *Manager) finish(unit string, r *unitRun, err error, stays bool) {
	s := &r.state
	exit := &Exit{Code: 1}
	switch {
	case errors.Is(err, ErrStays) || err == nil && stays:
		s.Active, s.Sub, s.Result = "active", "running", "success"
		return
	case err == nil:
		s.Active, s.Sub, s.Result = "inactive", "dead", "success"
		return
	case errors.Is(err, machine.Killed):
		s.Active, s.Sub, s.Result, s.ExitCode = "failed", "failed", "signal", 9
	case errors.Is(err, context.DeadlineExceeded) && r.transient != nil && r.transient.Timeout > 0:
		s.Active, s.Sub, s.Result = "failed", "failed", "timeout"
	default:
		errors.As(err, &exit)
		s.Active, s.Sub, s.Result, s.ExitCode = "failed", "failed", "exit-code", exit.Code
	}
	n.failures = append(n.failures, fmt.Errorf("%s: %w", unit, err))
	r.log = append(r.log, err.Error()+"\n")
}

// restarts says whether systemd starts the unit again after it failed so.
func (u unitFile) restarts(s host.UnitState) bool {
	switch u.get("Service.Restart") {
	case "on-failure", "always":
		return !slices.Contains(u.words("Service.RestartPreventExitStatus"), strconv.Itoa(s.ExitCode)) || s.Result == "signal"
	}
	return false
}

// restartLater has Settle start the unit again.
func (n *Manager) restartLater(unit string, run *unitRun) {
	if run.restarts++; run.restarts > restartLimit {
		run.state.Result = "start-limit-hit"
		return
	}
	run.state.Active, run.state.Sub = "activating", "auto-restart"
	n.queue = append(n.queue, unit)
}

// Queued takes the unit that waits first.
func (n *Manager) Queued() (string, bool) {
	n.Lock()
	defer n.Unlock()
	if len(n.queue) == 0 {
		return "", false
	}
	unit := n.queue[0]
	n.queue = n.queue[1:]
	return unit, true
}

// RunQueued runs a transient, or restarts a unit that failed.
func (n *Manager) RunQueued(ctx context.Context, unit string) {
	n.Enter()
	run := n.runs[unit]
	if run == nil || !run.state.Running() {
		n.Unlock()
		return // stopped meanwhile
	}
	if run.transient != nil {
		n.Unlock()
		n.runTransient(ctx, unit, run)
		return
	}
	run.state.Active = "failed"
	n.Unlock()
	_ = n.StartUnit(ctx, unit) // its failure is in its state
}

// runTransient runs a launched unit to its end.
func (n *Manager) runTransient(ctx context.Context, unit string, run *unitRun) {
	want := run.transient
	err := fmt.Errorf("%s: command not found", want.Argv[0])
	n.Enter()
	do := n.command(want.Argv)
	n.Unlock()
	if do != nil {
		if want.Timeout > 0 {
			limited, cancel := context.WithTimeout(ctx, want.Timeout)
			defer cancel()
			ctx = limited
		}
		err = n.process(ctx, func(ctx context.Context) error { return do(ctx, want.Argv) })
	}
	if errors.Is(err, ErrStays) && want.Timeout > 0 {
		err = context.DeadlineExceeded // nothing else would end it
	}
	n.Enter()
	defer n.Unlock()
	if n.runs[unit] != run {
		return // stopped meanwhile
	}
	n.finish(unit, run, err, false)
	switch {
	case err == nil:
		delete(n.runs, unit) // systemd forgets what ended well
	case run.state.Active == "failed" && want.Restart && (run.state.ExitCode != host.FinalExit || run.state.Result == "signal"):
		n.restartLater(unit, run)
	}
}

// Tick gives each active unit that registered with Every one turn, in order of names. It
// returns PowerCut or Rebooted where that ended the node.
func (n *Manager) Tick(ctx context.Context) error {
	return n.Controls().Run(ctx, func(ctx context.Context) error {
		n.Enter()
		every := make(map[string]Program, len(n.every))
		for unit, do := range n.every {
			every[unit] = do
		}
		n.Unlock()
		for _, unit := range slices.Sorted(maps.Keys(every)) {
			state, err := n.Units().State(ctx, unit)
			if err != nil || state.Active != "active" {
				continue
			}
			n.endTick(unit, n.process(ctx, every[unit]))
		}
		return nil
	})
}

// endTick ends the unit unless its program continues.
func (n *Manager) endTick(unit string, err error) {
	if errors.Is(err, ErrStays) {
		return
	}
	n.Enter()
	defer n.Unlock()
	run := n.runs[unit]
	if run == nil || !run.state.Running() {
		return
	}
	n.finish(unit, run, err, false)
	if file, _ := n.loadUnit("", unit); err != nil && file.restarts(run.state) {
		n.restartLater(unit, run)
	}
}
