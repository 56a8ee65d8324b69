package host

import (
	"context"
	"time"
)

// UnitState is what systemd says of a unit.
type UnitState struct {
	Load     string // "loaded", "not-found", "masked"
	Active   string // "active", "activating", "inactive", "failed"
	Sub      string
	Result   string // "success", "exit-code", "timeout", ...
	File     string // "enabled", "disabled", "masked-runtime", ...
	ExitCode int    // of the main process, where it ended
}

// Running says that the unit is active or on its way.
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
	// Enable and Disable change what the booted system starts at boot, for good.
	Enable(ctx context.Context, unit string) error
	Disable(ctx context.Context, unit string) error
}

// RuntimeMasks keep units down until they are lifted or the node reboots: the
// mask lives in /run, so a power cut heals the system by itself. It wins over unit files in
// /etc/systemd/system, which "systemctl mask --runtime" does not: the link must lie in
// /run/systemd/system.control.
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
	// Timeout ends the unit when it runs longer; 0 for none.
	Timeout time.Duration
	// Restart starts the unit again, after a pause, when it died of a signal or exited
	// with a code other than 0 and FinalExit: a journaled flow goes on where it was.
	Restart bool
}

// FinalExit is the exit code by which lca-cli says that another try would change nothing.
const FinalExit = 3

// Transients start one-shot units that outlive their caller.
type Transients interface {
	// Launch starts the unit and returns at once. A unit of that name that is
	// still running is left alone and reported by ErrUnitRunning.
	Launch(ctx context.Context, t Transient) error
	// Forget clears a unit that ended in failure, so that its name is free again.
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
	// Reboot asks for an orderly reboot and returns; the caller must then wait to be ended.
	Reboot(ctx context.Context, reason string) error
	// BootID changes with each boot.
	BootID(ctx context.Context) (string, error)
}

// Logs reads what units wrote, in this boot and, where the node keeps it, in those before: a change that failed
// has often seen more than one.
type Logs interface {
	// Unit returns the last lines of the unit's log, oldest first.
	Unit(ctx context.Context, unit string, lines int) ([]byte, error)
	// System returns the last lines that anything on the node logged as a warning or worse.
	System(ctx context.Context, lines int) ([]byte, error)
}
