package hosttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// ErrDeadlock is what Start fails with where systemd would wait for ever: a unit, while it starts,
// has asked for the start of one that is ordered after it.
var ErrDeadlock = errors.New("start job would never run")

var (
	errMasked   = errors.New("unit is masked")
	errNoTarget = errors.New("unit has no [Install] section that names a target")
)

// Program is what a unit does when it starts. A oneshot unit has ended when
// the program returns; any other then runs until it is stopped.
type Program func(ctx context.Context) error

// Command is what an argument vector does.
type Command func(ctx context.Context, argv []string) error

// Program registers what the unit does at start, instead of its ExecStart.
func (n *Node) Program(unit string, do Program) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.programs[unit] = do
}

// Command registers what argument vectors beginning with the given words do, in unit
// files and transients alike; folders of the program are not compared. "true", "false",
// "sleep" (it stays) and sh -c "exit N" are there from the start.
func (n *Node) Command(words string, do Command) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.commands[words] = do
}

// Every registers what a unit that stays does again and again while it runs: Tick calls it once.
func (n *Node) Every(unit string, do Program) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.every[unit] = do
}

// unitRun is the volatile side of a unit.
type unitRun struct {
	state     host.UnitState
	transient *host.Transient
	restarts  int
	log       []string
}

// Exit is the error of a program that ends with an exit code of its own; any other
// error counts as 1.
type Exit struct {
	Code int
	Err  error
}

func (e *Exit) Error() string { return fmt.Sprintf("exit status %d: %v", e.Code, e.Err) }

// Unwrap gives errors.Is the cause.
func (e *Exit) Unwrap() error { return e.Err }

// ErrStays is returned by a program whose process continues, such as a watchdog: its unit stays active.
var ErrStays = errors.New("process stays")

// Units is the node's host.Units.
func (n *Node) Units() host.Units { return units{n} }

// RuntimeMasks is the node's host.RuntimeMasks.
func (n *Node) RuntimeMasks() host.RuntimeMasks { return units{n} }

// ForeignUnits is the node's host.ForeignUnits.
func (n *Node) ForeignUnits() host.ForeignUnits { return units{n} }

type units struct{ n *Node }

func (u units) State(_ context.Context, unit string) (host.UnitState, error) {
	u.n.lock()
	defer u.n.mu.Unlock()
	return u.n.unitState(unit), nil
}

func (n *Node) unitState(unit string) host.UnitState {
	s := host.UnitState{Load: "not-found", Active: "inactive", Sub: "dead", Result: "success"}
	if run := n.running[unit]; run != nil {
		s = run.state
		s.Load = "not-found"
		if run.transient != nil {
			s.Load, s.File = "loaded", "transient"
			return s
		}
	}
	file, ok := n.loadUnit("", unit)
	switch {
	case !ok:
	case file.runtime:
		s.Load, s.File = "masked", "masked-runtime"
	case file.masked:
		s.Load, s.File = "masked", "masked"
	case len(n.wants("", unit)) > 0:
		s.Load, s.File = "loaded", "enabled"
	case len(file.words("Install.WantedBy"))+len(file.words("Install.RequiredBy")) == 0:
		s.Load, s.File = "loaded", "static"
	default:
		s.Load, s.File = "loaded", "disabled"
	}
	return s
}

func (u units) Start(ctx context.Context, unit string) error {
	n := u.n
	n.lock()
	err := func() error {
		defer n.mu.Unlock()
		if n.unitState(unit).Running() {
			return nil
		}
		if other := n.waitsFor(unit); other != "" {
			return fmt.Errorf("start %s: %w: it is ordered after %s, which is starting", unit, ErrDeadlock, other)
		}
		return n.op("units.start", unit)
	}()
	if err != nil {
		return err
	}
	return n.startUnit(ctx, unit)
}

func (u units) Stop(_ context.Context, unit string) error {
	n := u.n
	n.lock()
	defer n.mu.Unlock()
	run := n.running[unit]
	if run == nil || !run.state.Running() {
		return nil
	}
	if err := n.op("units.stop", unit); err != nil {
		return err
	}
	if run.transient != nil {
		delete(n.running, unit)
		return nil
	}
	run.state.Active, run.state.Sub, run.state.Result = "inactive", "dead", "success"
	return nil
}

func (u units) Enable(_ context.Context, unit string) error {
	u.n.lock()
	defer u.n.mu.Unlock()
	return u.n.enableIn("units.enable", "", unit)
}

func (u units) Disable(_ context.Context, unit string) error {
	u.n.lock()
	defer u.n.mu.Unlock()
	return u.n.disableIn("units.disable", "", unit)
}

func (u units) Mask(_ context.Context, unit string) error {
	n := u.n
	n.lock()
	defer n.mu.Unlock()
	if err := n.op("units.mask", unit); err != nil {
		return err
	}
	return n.disk.put(path.Join(runtimeMasks, unit), inode{mode: fs.ModeSymlink | 0o777, link: noUnit}, true)
}

func (u units) Unmask(_ context.Context, unit string) error {
	n := u.n
	n.lock()
	defer n.mu.Unlock()
	at := path.Join(runtimeMasks, unit)
	if n.disk.live[at].link != noUnit {
		return nil
	}
	if err := n.op("units.unmask", unit); err != nil {
		return err
	}
	n.disk.remove(at, true)
	return nil
}

func (u units) EnableIn(_ context.Context, root, unit string) error {
	u.n.lock()
	defer u.n.mu.Unlock()
	return u.n.enableIn("units.enable-in", root, unit)
}

func (u units) DisableIn(_ context.Context, root, unit string) error {
	u.n.lock()
	defer u.n.mu.Unlock()
	return u.n.disableIn("units.disable-in", root, unit)
}

// Logs is the node's host.Logs: how each unit's programs ended.
func (n *Node) Logs() host.Logs { return units{n} }

func (u units) Unit(_ context.Context, unit string, lines int) ([]byte, error) {
	u.n.lock()
	defer u.n.mu.Unlock()
	run := u.n.running[unit]
	if run == nil {
		return nil, nil
	}
	last := run.log[max(0, len(run.log)-lines):]
	return []byte(strings.Join(last, "")), nil
}

func (u units) System(_ context.Context, lines int) ([]byte, error) {
	u.n.lock()
	defer u.n.mu.Unlock()
	var b strings.Builder
	for _, err := range u.n.failures[max(0, len(u.n.failures)-lines):] {
		b.WriteString(err.Error() + "\n")
	}
	return []byte(b.String()), nil
}

// Transients is the node's host.Transients. What is launched waits for Settle.
func (n *Node) Transients() host.Transients { return transients{n} }

type transients struct{ n *Node }

func (t transients) Launch(_ context.Context, want host.Transient) error {
	n := t.n
	n.lock()
	defer n.mu.Unlock()
	if len(want.Argv) == 0 {
		return fmt.Errorf("launch %s: nothing to run", want.Unit)
	}
	if run := n.running[want.Unit]; run != nil && run.state.Running() {
		return fmt.Errorf("launch %s: %w", want.Unit, host.ErrUnitRunning)
	} else if run != nil && run.transient != nil {
		return fmt.Errorf("launch %s: a failed unit of that name is still remembered", want.Unit)
	}
	if err := n.op("transients.launch", want.Unit); err != nil {
		return err
	}
	want.Argv, want.Env = append([]string(nil), want.Argv...), append([]string(nil), want.Env...)
	n.running[want.Unit] = &unitRun{
		transient: &want,
		state:     host.UnitState{Active: "activating", Sub: "start", Result: "success"},
	}
	n.queue = append(n.queue, want.Unit)
	return nil
}

func (t transients) Forget(_ context.Context, unit string) error {
	n := t.n
	n.lock()
	defer n.mu.Unlock()
	run := n.running[unit]
	if run == nil || run.state.Active != "failed" {
		return nil
	}
	if err := n.op("transients.forget", unit); err != nil {
		return err
	}
	if run.transient != nil {
		delete(n.running, unit)
	} else {
		run.state.Active, run.state.Sub, run.state.Result, run.state.ExitCode = "inactive", "dead", "success", 0
	}
	return nil
}

// command finds what an argument vector does; the longest registered beginning wins.
func (n *Node) command(argv []string) Command {
	line := strings.Join(append([]string{path.Base(argv[0])}, argv[1:]...), " ")
	best, found := "", Command(nil)
	for words, do := range n.commands {
		if (line == words || strings.HasPrefix(line, words+" ")) && len(words) >= len(best) {
			best, found = words, do
		}
	}
	return found
}
