package change_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

const watchdogFired = "Rollback due to LCA Init Monitor timeout, after 30m0s"

// watchdog is a node's watchdog, run after run.
type watchdog struct {
	change.Monitor
	clock *fakeTime
}

func newWatchdog() *watchdog {
	clock := &fakeTime{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	return &watchdog{clock: clock, Monitor: change.Monitor{
		Files: hosttest.NewNode(hosttest.Options{}).Files(), Clock: clock, Log: slog.New(slog.DiscardHandler),
		Auto: ipconfig.AutoRollback{MonitorEnabled: true, MonitorTimeout: 1800},
	}}
}

// run starts the watchdog anew and kills it after a while; zero waits for its end.
func (w *watchdog) run(ctx context.Context, killedAfter time.Duration) (string, error) {
	m, began := w.Monitor, w.clock.now
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	w.clock.slept = func(now time.Time) {
		if killedAfter > 0 && now.Sub(began) >= killedAfter {
			kill()
		}
	}
	return m.Watch(ctx)
}

func TestTheWatchdogCountsTheTimeThatTheNewSystemRuns(t *testing.T) {
	for name, between := range map[string]func(*watchdog){
		"nothing":                       func(*watchdog) {},
		"the clock is ten hours ahead":  func(w *watchdog) { w.clock.now = w.clock.now.Add(10 * time.Hour) },
		"its battery is flat":           func(w *watchdog) { w.clock.now = w.clock.now.AddDate(-20, 0, 0) },
		"fifteen minutes of self-test":  func(w *watchdog) { w.clock.now = w.clock.now.Add(15 * time.Minute) },
		"a weekend without electricity": func(w *watchdog) { w.clock.now = w.clock.now.Add(60 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchdog()
			between(w)
			for range 2 {
				_, err := w.run(t.Context(), 10*time.Minute)
				require.ErrorIs(t, err, context.Canceled)
				between(w)
			}
			began := w.clock.now
			cause, err := w.run(t.Context(), 0)
			require.NoError(t, err)
			require.Equal(t, watchdogFired, cause)
			require.Equal(t, 10*time.Minute, w.clock.now.Sub(began))
		})
	}
}

// TestAWatchdogWithoutItsRecordWaitsItsTimeOnceMore: a damaged record is no reason to go back at once, nor never.
func TestAWatchdogWithoutItsRecordWaitsItsTimeOnceMore(t *testing.T) {
	for name, record := range map[string]string{"garbled": "\x00", "negative": `{"spent-seconds":-1e9,"until":"2026-01-01T00:00:00Z"}`} {
		t.Run(name, func(t *testing.T) {
			w := newWatchdog()
			require.NoError(t, w.Files.Write(ipconfig.WatchedFile, []byte(record), 0o600))
			began := w.clock.now
			cause, err := w.run(t.Context(), 0)
			require.NoError(t, err)
			require.Equal(t, watchdogFired, cause)
			require.Equal(t, 30*time.Minute, w.clock.now.Sub(began))
		})
	}
}

func TestAWatchdogThatIsSwitchedOffDoesNotWatch(t *testing.T) {
	w := newWatchdog()
	w.Auto.MonitorEnabled = false
	cause, err := w.run(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, cause)
}
