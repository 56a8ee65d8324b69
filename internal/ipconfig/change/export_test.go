package change

import "time"

// Resume continues from the time that earlier runs of the watchdog have recorded.
func (m *Monitor) Resume() { m.ensureWatchdog().Resume() }

// Count adds the time since the last call and records the sum. It returns the cause of the rollback when none is left.
func (m *Monitor) Count() (left time.Duration, cause string) {
	if left = m.ensureWatchdog().Count(); left <= 0 {
		return 0, m.rollbackCause()
	}
	return left, ""
}
