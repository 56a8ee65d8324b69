package ipconfig

import (
	"context"
	"fmt"
	"time"
)

// watchInterval is how often the watchdog looks whether the time is over.
const watchInterval = 5 * time.Second

// Monitor is the watchdog of an operation in the new stateroot.
type Monitor struct {
	Node     Node
	Request  Request
	Auto     AutoRollback
	Deadline time.Time
}

// left is how long from now the watchdog waits. The deadline is a time of day, so that reboots do not move it,
// and it is looked at once: when a time server sets the clock of a site later on, nothing
// follows from it. A clock that fell back in the reboot does not put the end off for ever.
func (m *Monitor) left() time.Duration {
	return min(max(m.Deadline.Sub(m.Node.Clock.Now()), 0), m.Auto.Timeout())
}

// Watch returns nil when the watchdog is switched off, an error when ctx ended
// first, and the cause of the rollback when the deadline has passed.
func (m *Monitor) Watch(ctx context.Context) (cause string, err error) {
	if !m.Auto.MonitorEnabled {
		m.Node.Log.Info("the watchdog is switched off by annotation", "op", m.Request.OperationID)
		return "", nil
	}
	if m.Deadline.IsZero() {
		m.Deadline = m.Node.Clock.Now().Add(m.Auto.Timeout())
		m.Node.Log.Warn("the journal holds no deadline; counting from now", "op", m.Request.OperationID)
	}
	m.Node.Log.Info("watchdog armed", "op", m.Request.OperationID, "deadline", m.Deadline)
	patience, start := m.left(), m.Node.Clock.Now()
	for {
		left := patience - m.Node.Clock.Now().Sub(start)
		if left <= 0 {
			return fmt.Sprintf("%s%s", CauseWatchdog, m.Auto.Timeout()), nil
		}
		if err := m.Node.Clock.Sleep(ctx, min(left, watchInterval)); err != nil {
			return "", fmt.Errorf("watchdog: %w", err)
		}
	}
}
