package host

import (
	"context"
	"time"
)

// UnitState is a unit's state as systemd reports it.
type UnitState struct {
	Load     string // "loaded", "not-found", "masked"
	Active   string // "active", "activating", "inactive", "failed"
	Sub      string
	Result   string // "success", "exit-code", "timeout", ...
	File     string // "enabled", "disabled", "masked-runtime", ...
	ExitCode int    // of the main process, if it ended
}

// Running says that the unit is active or activating.
func (s UnitState) Running() bool { return s.Active == "active" || s.Active == "activating" }

// Exists says that systemd knows the unit.
func (s UnitState) Exists() bool { return s.Load != "" && s.Load != "not-found" }

// Units are the node's systemd units.
type Units interface {
	State(ctx context.Context, unit string) (UnitState, error)
	// Start returns when the start job ended; a failed job is an error.
	Start(ctx context.Context, unit string) error
	// Stop returns when the unit is down. A unit that does not exist is stopped.
	Stop(ctx context.Context, unit string) error
	// Enable and Disable change persistently what the booted system starts at boot.
	Enable(ctx context.Context, unit string) error
	Disable(ctx context.Context, unit string) error
}

// RuntimeMasks keep units from starting until they are unmasked or the node reboots: the mask is in /run, so the system
// recovers from a power cut without help. It takes precedence over unit files in /etc/systemd/system, which
// "systemctl mask --runtime" does not: the link has to be in /run/systemd/system.control.
type RuntimeMasks interface {
	Mask(ctx context.Context, unit string) error
	Unmask(ctx context.Context, unit string) error
}

// Transient describes a one-shot unit started without a unit file.
type Transient struct {
	Unit        string
	Description string
	Argv        []string
	Env         []string
	// Timeout stops the unit when it runs longer; 0 for none.
	Timeout time.Duration
	// Restart starts the unit again, after a pause, when a signal killed it or it exited with a code other than 0
	// and FinalExit: a journaled flow resumes where it was.
	Restart bool
	// Background has it give way to everything else on the node, with the processor and the disk, and lets it divide its control
	// group among containers.
	Background bool
}

// FinalExit is the exit code of lca-cli for a failure that a retry would not change.
const FinalExit = 3

// Transients start one-shot units that outlive their caller.
type Transients interface {
	// Launch starts the unit and returns at once. A unit of that name that is
	// still running is left alone and reported by ErrUnitRunning.
	Launch(ctx context.Context, t Transient) error
	// Forget clears a failed unit, so that its name can be used again.
	Forget(ctx context.Context, unit string) error
}

// ForeignUnits install units into a deployment that is not running.
type ForeignUnits interface {
	// EnableIn links the unit (already written below root) into the targets it names.
	EnableIn(ctx context.Context, root, unit string) error
	DisableIn(ctx context.Context, root, unit string) error
}

// Power restarts the node.
type Power interface {
	// Reboot requests an orderly reboot and returns; the caller then waits to be terminated.
	Reboot(ctx context.Context, reason string) error
	// BootID changes with each boot.
	BootID(ctx context.Context) (string, error)
}

// Logs reads the logs of units, of this boot and, where the node keeps them, of earlier ones: a failed change often
// spans several boots.
type Logs interface {
	// Unit returns the last lines of the unit's log, oldest first.
	Unit(ctx context.Context, unit string, lines int) ([]byte, error)
	// System returns the node's last log lines of warning priority or worse.
	System(ctx context.Context, lines int) ([]byte, error)
}
