package change

import (
	"context"
	"log/slog"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Monitor is the watchdog of an operation in the new stateroot; see stateroot.Watchdog. Where its record cannot be read,
// lca-last-resort.timer sets the limit.
type Monitor struct {
	Files   host.Files
	Clock   flow.Clock
	Log     *slog.Logger
	Request ipconfig.Request
	Auto    ipconfig.AutoRollback
	// Alive reports at each turn that the watchdog works; nil reports nothing. systemd kills a watchdog that does not report.
	Alive func()

	dog *stateroot.Watchdog
}

// Watch returns nil when the watchdog is switched off, an error when ctx ended
// first, and the cause of the rollback when the limit is reached.
func (m *Monitor) Watch(ctx context.Context) (cause string, err error) {
	if !m.Auto.MonitorEnabled {
		m.Log.Info("the watchdog is switched off by annotation", "op", m.Request.OperationID)
		return "", nil
	}
	if err := m.watchdog().Watch(ctx); err != nil {
		return "", err
	}
	return m.cause(), nil
}

func (m *Monitor) cause() string { return ipconfig.CauseWatchdog + m.Auto.Timeout().String() }

func (m *Monitor) watchdog() *stateroot.Watchdog {
	if m.dog == nil {
		m.dog = &stateroot.Watchdog{
			Files: m.Files, Clock: m.Clock, Log: m.Log, Operation: m.Request.OperationID,
			Record: ipconfig.WatchedFile, Limit: m.Auto.Timeout(), Alive: m.Alive,
		}
	}
	return m.dog
}
