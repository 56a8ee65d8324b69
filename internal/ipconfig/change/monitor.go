package change

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// watchInterval is how often the watchdog compares the time with the deadline.
const watchInterval = 5 * time.Second

// Monitor is the watchdog of an operation in the new stateroot.
type Monitor struct {
	Clock    flow.Clock
	Log      *slog.Logger
	Request  ipconfig.Request
	Auto     ipconfig.AutoRollback
	Deadline time.Time
}

// left is how long from now the watchdog waits. The deadline is a time of day, so that reboots do not move it, and it is
// compared once: a time server that sets the site's clock later changes nothing. A clock that fell back in the reboot
// does not extend the wait beyond the timeout.
func (m *Monitor) left() time.Duration {
	return min(max(m.Deadline.Sub(m.Clock.Now()), 0), m.Auto.Timeout())
}

// Watch returns nil when the watchdog is switched off, an error when ctx ended
// first, and the cause of the rollback when the deadline has passed.
func (m *Monitor) Watch(ctx context.Context) (cause string, err error) {
	if !m.Auto.MonitorEnabled {
		m.Log.Info("the watchdog is switched off by annotation", "op", m.Request.OperationID)
		return "", nil
	}
	if m.Deadline.IsZero() {
		m.Deadline = m.Clock.Now().Add(m.Auto.Timeout())
		m.Log.Warn("the journal holds no deadline; counting from now", "op", m.Request.OperationID)
	}
	m.Log.Info("watchdog armed", "op", m.Request.OperationID, "deadline", m.Deadline)
	limit, start := m.left(), m.Clock.Now()
	for {
		left := limit - m.Clock.Now().Sub(start)
		if left <= 0 {
			return fmt.Sprintf("%s%s", ipconfig.CauseWatchdog, m.Auto.Timeout()), nil
		}
		if err := m.Clock.Sleep(ctx, min(left, watchInterval)); err != nil {
			return "", fmt.Errorf("watchdog: %w", err)
		}
	}
}
