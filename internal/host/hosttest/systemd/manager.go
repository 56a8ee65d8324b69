// Package systemd is what a fake node has of systemd: unit files and their links on its disk, what runs, and who waits for whom.
//
// It is called by hosttest, which joins the rooms. Tests only: it imports the ports and hosttest/machine, and must not
// import another room.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// ErrDeadlock is what Start fails with where systemd would wait for ever: a unit, while it starts,
// has asked for the start of one that is ordered after it.
var ErrDeadlock = errors.New("start job would never run")

var (
	errMasked   = errors.New("unit is masked")
	errNoTarget = errors.New("unit has no [Install] section that names a target")
)

// Manager is the node's systemd.
type Manager struct {
	*machine.Machine
	runs     map[string]*unitRun
	queue    []string // units that wait for RunQueued
	failures []error

	programs map[string]Program
	commands map[string]Command
	every    map[string]Program
	started  func(unit string)
}

// New returns the systemd of a machine; started is called, under the lock, when a unit starts.
func New(m *machine.Machine, started func(unit string)) *Manager {
	return &Manager{
		Machine: m, runs: map[string]*unitRun{}, started: started,
		programs: map[string]Program{}, commands: builtins(), every: map[string]Program{},
	}
}

// Reset forgets what ran: a boot begins.
func (n *Manager) Reset() { n.runs, n.queue = map[string]*unitRun{}, nil }

// Failures are the errors with which units ended since the node was made.
func (n *Manager) Failures() []error {
	n.Lock()
	defer n.Unlock()
	return slices.Clone(n.failures)
}

// Program is what a unit does when it starts. A oneshot unit has ended when
// the program returns; any other then runs until it is stopped.
type Program func(ctx context.Context) error

// Command is what an argument vector does.
type Command func(ctx context.Context, argv []string) error

// Program registers what the unit does at start, instead of its ExecStart.
func (n *Manager) Program(unit string, do Program) {
	n.Lock()
	defer n.Unlock()
	n.programs[unit] = do
}

// Command registers what argument vectors beginning with the given words do, in unit
// files and transients alike; folders of the program are not compared. "true", "false",
// "sleep" (it stays) and sh -c "exit N" are there from the start.
func (n *Manager) Command(words string, do Command) {
	n.Lock()
	defer n.Unlock()
	n.commands[words] = do
}

// Every registers what a unit that stays does again and again while it runs: Tick calls it once.
func (n *Manager) Every(unit string, do Program) {
	n.Lock()
	defer n.Unlock()
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

// command finds what an argument vector does; the longest registered beginning wins.
func (n *Manager) command(argv []string) Command {
	line := strings.Join(append([]string{path.Base(argv[0])}, argv[1:]...), " ")
	best, found := "", Command(nil)
	for words, do := range n.commands {
		if (line == words || strings.HasPrefix(line, words+" ")) && len(words) >= len(best) {
			best, found = words, do
		}
	}
	return found
}
