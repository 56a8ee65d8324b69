package systemd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

// EnableIn implements host.ForeignUnits.
func (m *Manager) EnableIn(ctx context.Context, root, unit string) error {
	if err := m.offline(ctx, root, "enable", unit); err != nil {
		return fmt.Errorf("enable %s in %s: %w", unit, root, err)
	}
	return m.flush(filepath.Join(root, host.UnitDir))
}

// DisableIn implements host.ForeignUnits. A unit that does not exist there is disabled.
func (m *Manager) DisableIn(ctx context.Context, root, unit string) error {
	err := m.offline(ctx, root, "disable", unit)
	var failed *run.Error
	if errors.As(err, &failed) && strings.Contains(failed.Output, "does not exist") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("disable %s in %s: %w", unit, root, err)
	}
	return m.flush(filepath.Join(root, host.UnitDir))
}

func (m *Manager) offline(ctx context.Context, root, verb, unit string) error {
	_, err := m.runner.Run(ctx, run.Command{
		Argv:    []string{"systemctl", "--root=" + root, verb, unit},
		Timeout: time.Minute,
	})
	return err
}
