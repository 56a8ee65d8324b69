package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// watchInterval is how often the watchdog records how long it has waited.
const watchInterval = 5 * time.Second

// Monitor is the watchdog of an operation in the new stateroot. Its limit holds in the time that the new system runs, summed
// over its boots: neither the time of day, nor the firmware's self-test, nor a power failure of hours counts.
type Monitor struct {
	Files   host.Files
	Clock   flow.Clock
	Log     *slog.Logger
	Request ipconfig.Request
	Auto    ipconfig.AutoRollback
	// Alive reports at each turn that the watchdog works; nil reports nothing. systemd kills a watchdog that does not report.
	Alive func()

	spent time.Duration
	at    time.Time
}

// Watch returns nil when the watchdog is switched off, an error when ctx ended
// first, and the cause of the rollback when the limit is reached.
func (m *Monitor) Watch(ctx context.Context) (cause string, err error) {
	if !m.Auto.MonitorEnabled {
		m.Log.Info("the watchdog is switched off by annotation", "op", m.Request.OperationID)
		return "", nil
	}
	m.Resume()
	for {
		if m.Alive != nil {
			m.Alive()
		}
		left, cause := m.Count()
		if cause != "" {
			return cause, nil
		}
		if err := m.Clock.Sleep(ctx, min(left, watchInterval)); err != nil {
			m.Count()
			return "", fmt.Errorf("watchdog: %w", err)
		}
	}
}

// Resume continues from the time that earlier runs of the watchdog have recorded. Where the record cannot be read it counts
// from zero, for which lca-last-resort.timer sets the limit.
func (m *Monitor) Resume() {
	var w ipconfig.Watched
	if err := operation.ReadJSON(m.Files, ipconfig.WatchedFile, &w); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.Log.Warn("the time that the watchdog has waited cannot be read; counting from now", "op", m.Request.OperationID, "error", err)
	}
	m.spent, m.at = max(time.Duration(w.SpentSeconds*float64(time.Second)), 0), m.Clock.Now()
	m.Log.Info("watchdog armed", "op", m.Request.OperationID, "spent", m.spent.String(), "limit", m.Auto.Timeout().String())
}

// Count adds the time since the last call and records the sum. It returns the cause of the rollback when none is left.
func (m *Monitor) Count() (left time.Duration, cause string) {
	now := m.Clock.Now()
	m.spent, m.at = m.spent+max(now.Sub(m.at), 0), now
	left = m.Auto.Timeout() - m.spent
	w := ipconfig.Watched{SpentSeconds: m.spent.Seconds(), Until: now.Add(left).UTC().Truncate(time.Second)}
	if err := operation.WriteJSON(m.Files, ipconfig.WatchedFile, w); err != nil {
		m.Log.Warn("the watchdog cannot record how long it has waited", "op", m.Request.OperationID, "error", err)
	}
	if left <= 0 {
		return 0, ipconfig.CauseWatchdog + m.Auto.Timeout().String()
	}
	return left, ""
}
