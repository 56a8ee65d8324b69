package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

const (
	// clearWithin bounds the wait for systemd to release the name of a unit that ended.
	clearWithin = 5 * time.Second
	clearPoll   = 20 * time.Millisecond
)

// restartPause is how long a unit with Restart waits. It is long enough that systemd's own limit
// (five starts in ten seconds) never ends the retries: the flow counts them.
const restartPause = 5 * time.Second

// exitStatuses is D-Bus's "(aiai)": exit codes and signals.
type exitStatuses struct{ Codes, Signals []int32 }

// programDirs is where a program named without a folder is looked for, on the host.
var programDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"}

// Launch implements host.Transients. It returns once the program is executing, so a program
// that does not exist is an error here. A unit of the name that failed earlier is
// cleared. The unit has mounts of its own (which ostree.WritableSysroot asks for), and
// what the program leaves running is ended with it. With Restart, running into
// Timeout counts as a failure and is tried again.
func (m *Manager) Launch(ctx context.Context, t host.Transient) error {
	if len(t.Argv) == 0 {
		return fmt.Errorf("launch %s: nothing to run", t.Unit)
	}
	conn, err := m.connect()
	if err != nil {
		return fmt.Errorf("start %s: %w", t.Unit, err)
	}
	if err := m.awaitFreeName(ctx, t.Unit); err != nil {
		return err
	}
	props, err := m.unitProperties(t)
	if err != nil {
		return fmt.Errorf("launch %s: %w", t.Unit, err)
	}
	err = m.runJob(ctx, t.Unit, func(done chan<- string) (int, error) {
		return conn.StartTransientUnitContext(ctx, t.Unit, "fail", props, done)
	})
	if isError(err, errUnitExists) {
		if s, serr := m.State(ctx, t.Unit); serr == nil && isBusy(s) {
			return fmt.Errorf("launch %s: %w", t.Unit, host.ErrUnitRunning)
		}
	}
	if err != nil {
		return fmt.Errorf("launch %s: %w", t.Unit, err)
	}
	return nil
}

// unitProperties are the unit's settings. Type=exec has the start job tell whether the program
// could be executed, and allows a limit on its run time.
func (m *Manager) unitProperties(t host.Transient) ([]dbus.Property, error) {
	argv, err := m.resolveProgram(t.Argv)
	if err != nil {
		return nil, err
	}
	props := []dbus.Property{
		dbus.PropDescription(t.Description),
		dbus.PropType("exec"),
		newProperty("PrivateMounts", true),
		newProperty("KillMode", "control-group"),
		dbus.PropExecStart(argv, false),
	}
	if len(t.Env) > 0 {
		props = append(props, newProperty("Environment", t.Env))
	}
	if t.Background {
		props = append(props, backgroundProperties()...)
	}
	if t.Timeout > 0 {
		props = append(props, newProperty("RuntimeMaxUSec", uint64(t.Timeout.Microseconds())))
	}
	if t.Restart {
		props = append(props,
			newProperty("Restart", "on-failure"),
			newProperty("RestartUSec", uint64(restartPause.Microseconds())),
			newProperty("RestartPreventExitStatus", exitStatuses{Codes: []int32{host.FinalExit}, Signals: []int32{}}))
	}
	return props, nil
}

// backgroundProperties are those of a unit that gives way: the kernel's idle classes, the smallest weights, and the first to be ended when
// memory runs out.
func backgroundProperties() []dbus.Property {
	const lowest, idleClass, firstToGo = int32(19), int32(3), int32(1000)
	return []dbus.Property{
		newProperty("Nice", lowest), newProperty("IOSchedulingClass", idleClass), newProperty("CPUWeight", uint64(1)),
		newProperty("IOWeight", uint64(1)), newProperty("OOMScoreAdjust", firstToGo), newProperty("Delegate", true),
	}
}

func newProperty(name string, value any) dbus.Property {
	return dbus.Property{Name: name, Value: godbus.MakeVariant(value)}
}

// resolveProgram gives argv the absolute path that systemd of some versions insists on.
func (m *Manager) resolveProgram(argv []string) ([]string, error) {
	if strings.HasPrefix(argv[0], "/") {
		return argv, nil
	}
	for _, dir := range programDirs {
		path := filepath.Join(dir, argv[0])
		if _, err := os.Stat(filepath.Join(m.root, path)); err == nil {
			return append([]string{path}, argv[1:]...), nil
		}
	}
	return nil, fmt.Errorf("program %s is not on the host", argv[0])
}

func isBusy(s host.UnitState) bool { return s.Running() || s.Active == "deactivating" }

// awaitFreeName makes sure that the name is free, or says that it is in use.
func (m *Manager) awaitFreeName(ctx context.Context, unit string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, clearWithin, errors.New("systemd does not release the unit of that name"))
	defer cancel()
	tick := time.NewTicker(clearPoll)
	defer tick.Stop()
	for {
		s, err := m.State(ctx, unit)
		if err != nil {
			return err
		}
		if isBusy(s) {
			return fmt.Errorf("launch %s: %w", unit, host.ErrUnitRunning)
		}
		if !s.Exists() && s.Active != "failed" {
			return nil
		}
		if err := m.Forget(ctx, unit); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("launch %s: %w", unit, context.Cause(ctx))
		}
	}
}

// Forget implements host.Transients. A unit that runs is left alone.
func (m *Manager) Forget(ctx context.Context, unit string) error {
	conn, err := m.connect()
	if err != nil {
		return fmt.Errorf("forget %s: %w", unit, err)
	}
	if err := conn.ResetFailedUnitContext(ctx, unit); err != nil && !isError(err, errNoSuchUnit) {
		return fmt.Errorf("forget %s: %w", unit, err)
	}
	return nil
}
