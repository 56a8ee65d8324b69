package ipconfig

import (
	"context"
	"fmt"
	"time"
)

// watchInterval is how often the watchdog looks at the clock: often enough that a
// clock which is set right after boot moves the end by no more than this.
const watchInterval = 5 * time.Second

// Monitor is the watchdog of an operation in the new stateroot.
type Monitor struct {
	Node     Node
	Request  Request
	Auto     AutoRollback
	Deadline time.Time
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
	for {
		left := m.Deadline.Sub(m.Node.Clock.Now())
		if left <= 0 {
			return fmt.Sprintf("%s%s", CauseWatchdog, m.Auto.Timeout()), nil
		}
		if err := m.Node.Clock.Sleep(ctx, min(left, watchInterval)); err != nil {
			return "", fmt.Errorf("watchdog: %w", err)
		}
	}
}
