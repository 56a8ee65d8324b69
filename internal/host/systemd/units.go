package systemd

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// State implements host.Units. It is one call, so the fields belong together.
func (m *Manager) State(ctx context.Context, unit string) (host.UnitState, error) {
	conn, err := m.connect()
	if err != nil {
		return host.UnitState{}, fmt.Errorf("read the state of %s: %w", unit, err)
	}
	props, err := conn.GetAllPropertiesContext(ctx, unit)
	if isError(err, errNoSuchUnit) {
		return host.UnitState{Load: "not-found", Active: "inactive"}, nil
	}
	if err != nil {
		return host.UnitState{}, fmt.Errorf("read the state of %s: %w", unit, err)
	}
	text := func(name string) string {
		s, _ := props[name].(string)
		return s
	}
	code, _ := props["ExecMainCode"].(int32)
	status, _ := props["ExecMainStatus"].(int32)
	return host.UnitState{
		Load: text("LoadState"), Active: text("ActiveState"), Sub: text("SubState"),
		Result: text("Result"), File: text("UnitFileState"), ExitCode: exitCode(code, status),
	}, nil
}

// exitCode maps what waitid(2) says of the main process as a shell does: a signal is 128 and
// its number.
func exitCode(code, status int32) int {
	const exited, killed, dumped = 1, 2, 3 // CLD_*
	switch code {
	case exited:
		return int(status)
	case killed, dumped:
		return 128 + int(status)
	}
	return 0
}

// Start implements host.Units.
func (m *Manager) Start(ctx context.Context, unit string) error {
	conn, err := m.connect()
	if err != nil {
		return fmt.Errorf("start %s: %w", unit, err)
	}
	err = m.runJob(ctx, unit, func(done chan<- string) (int, error) {
		return conn.StartUnitContext(ctx, unit, "replace", done)
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", unit, err)
	}
	return nil
}

// Stop implements host.Units.
func (m *Manager) Stop(ctx context.Context, unit string) error {
	conn, err := m.connect()
	if err != nil {
		return fmt.Errorf("stop %s: %w", unit, err)
	}
	err = m.runJob(ctx, unit, func(done chan<- string) (int, error) {
		return conn.StopUnitContext(ctx, unit, "replace", done)
	})
	if err != nil && !isError(err, errNoSuchUnit) {
		return fmt.Errorf("stop %s: %w", unit, err)
	}
	return nil
}

// Enable implements host.Units. A unit that says nothing about when it is wanted cannot be
// enabled, and that is an error here (systemctl only hints at it).
func (m *Manager) Enable(ctx context.Context, unit string) error {
	conn, err := m.connect()
	if err != nil {
		return fmt.Errorf("enable %s: %w", unit, err)
	}
	wanted, _, err := conn.EnableUnitFilesContext(ctx, []string{unit}, false, true)
	if err == nil && !wanted {
		err = errors.New("it has no [Install] section")
	}
	if err != nil {
		return fmt.Errorf("enable %s: %w", unit, err)
	}
	return m.reloadAndFlush(ctx)
}

// Disable implements host.Units. A unit that does not exist is disabled.
func (m *Manager) Disable(ctx context.Context, unit string) error {
	conn, err := m.connect()
	if err != nil {
		return fmt.Errorf("disable %s: %w", unit, err)
	}
	if _, err := conn.DisableUnitFilesContext(ctx, []string{unit}, false); err != nil && !isError(err, errNoSuchUnit) {
		return fmt.Errorf("disable %s: %w", unit, err)
	}
	return m.reloadAndFlush(ctx)
}

func (m *Manager) reloadAndFlush(ctx context.Context) error {
	if err := m.Reload(ctx); err != nil {
		return err
	}
	return m.flushFolder(host.UnitDir)
}

// Reload has systemd read its unit files again.
func (m *Manager) Reload(ctx context.Context) error {
	conn, err := m.connect()
	if err != nil {
		return fmt.Errorf("reload systemd: %w", err)
	}
	if err := conn.ReloadContext(ctx); err != nil {
		return fmt.Errorf("reload systemd: %w", err)
	}
	return nil
}
