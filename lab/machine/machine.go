package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Kind names an implementation.
type Kind string

const (
	// Nspawn boots a sysroot directory in a container. Seconds; no kernel, boot loader or initramfs of its own.
	Nspawn Kind = "nspawn"
	// QEMU boots a disk in an emulated PC. Half a minute and more; everything is real.
	QEMU Kind = "qemu"
)

// ErrOff says that the machine is not running, or so early in its boot that nothing in it can answer.
var ErrOff = errors.New("the machine is off")

// Machine is one lab node's hardware.
type Machine interface {
	// Start powers the machine on and returns once it is on; the boot goes on. It runs on after the program has ended.
	Start(ctx context.Context) error
	// Stop asks the operating system to power off and waits until the machine is off. Off already is no error.
	Stop(ctx context.Context) error
	// PowerCut takes the power away at once: nothing in the machine gets to do anything. Off already is no error.
	PowerCut(ctx context.Context) error
	// Exec runs a program in the node as root. A program that ends with a non-zero code is no error. ErrOff when off.
	Exec(ctx context.Context, command Command) (Result, error)
	// State says whether the machine is on, and if its operating system answers, in which boot it is.
	State(ctx context.Context) (State, error)
	// ConsoleLog is the path of the file to which everything on the machine's console is appended.
	ConsoleLog() string
}

// Command is a program to run in the node.
type Command struct {
	Argv  []string
	Stdin io.Reader // nil: empty
}

// Result is what a program left.
type Result struct {
	Stdout, Stderr string
	ExitCode       int
}

// State is a machine's condition at one moment.
type State struct {
	On     bool   `json:"on"`
	BootID string `json:"bootID,omitempty"` // empty while nothing in the node answers; changes with every boot
	// Stateroot is the ostree stateroot that is booted.
	Stateroot string `json:"stateroot,omitempty"`
}

// Output runs a program and returns its standard output without the final line break; a non-zero exit code is an error.
func Output(ctx context.Context, m Machine, argv ...string) (string, error) {
	result, err := m.Exec(ctx, Command{Argv: argv})
	if err != nil {
		return "", err
	}
	if result.ExitCode != 0 {
		return "", fmt.Errorf("in the node: %s: exit code %d: %s", strings.Join(argv, " "), result.ExitCode,
			strings.TrimSpace(result.Stderr))
	}
	return strings.TrimRight(result.Stdout, "\n"), nil
}

// stateFrom asks the running node for the parts of State that only it knows.
func stateFrom(ctx context.Context, m Machine) State {
	text, err := Output(ctx, m, "cat", "/proc/sys/kernel/random/boot_id", "/proc/cmdline")
	if err != nil {
		return State{On: true}
	}
	bootID, cmdline, _ := strings.Cut(text, "\n")
	return State{On: true, BootID: bootID, Stateroot: Stateroot(cmdline)}
}
