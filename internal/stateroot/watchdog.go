package stateroot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// watchInterval is how often a watchdog records how long it has waited.
const watchInterval = 5 * time.Second

// Watched is a watchdog's record: how long it has waited in the new system, over all its boots.
type Watched struct {
	SpentSeconds float64 `json:"spent-seconds"`
	// Until is when it rolls back if the node stays up and the clock is right: for people, not for the watchdog.
	Until time.Time `json:"until"`
}

// Watchdog limits how long a new system may take to prove itself. Its limit holds in the time that the new system runs,
// summed over its boots: neither the time of day, nor the firmware's self-test, nor a power failure of hours counts.
type Watchdog struct {
	Files host.Files
	Clock flow.Clock
	Log   *slog.Logger
	// Operation is the one that is watched, Record the file that keeps the time waited.
	Operation, Record string
	Limit             time.Duration
	// Alive reports at each turn that the watchdog works; nil reports nothing. systemd kills a watchdog that does not report.
	Alive func()
	// Over reports that there is nothing to watch any more; nil: there always is.
	Over func() bool

	spent time.Duration
	at    time.Time
}

// ErrOver means that a watchdog has ended because there was nothing to watch any more.
var ErrOver = errors.New("the new system is proved")

// Watch returns nil when the limit is reached, ErrOver when Over says so, and another error when ctx ended first.
func (w *Watchdog) Watch(ctx context.Context) error {
	w.Resume()
	for {
		if w.Alive != nil {
			w.Alive()
		}
		if w.Over != nil && w.Over() {
			return ErrOver
		}
		left := w.Count()
		if left <= 0 {
			return nil
		}
		if err := w.Clock.Sleep(ctx, min(left, watchInterval)); err != nil {
			w.Count()
			return fmt.Errorf("watchdog: %w", err)
		}
	}
}

// Resume continues from the time that earlier runs of the watchdog have recorded. Where the record cannot be read it
// counts from zero.
func (w *Watchdog) Resume() {
	var record Watched
	if err := operation.ReadJSON(w.Files, w.Record, &record); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Log.Warn("the time that the watchdog has waited cannot be read; counting from now", "op", w.Operation, "error", err)
	}
	w.spent, w.at = max(time.Duration(record.SpentSeconds*float64(time.Second)), 0), w.Clock.Now()
	w.Log.Info("watchdog armed", "op", w.Operation, "spent", w.spent.String(), "limit", w.Limit.String())
}

// Count adds the time since the last call, records the sum and returns what is left of the limit; 0 or less for nothing.
func (w *Watchdog) Count() (left time.Duration) {
	now := w.Clock.Now()
	w.spent, w.at = w.spent+max(now.Sub(w.at), 0), now
	left = w.Limit - w.spent
	record := Watched{SpentSeconds: w.spent.Seconds(), Until: now.Add(left).UTC().Truncate(time.Second)}
	if err := operation.WriteJSON(w.Files, w.Record, record); err != nil {
		w.Log.Warn("the watchdog cannot record how long it has waited", "op", w.Operation, "error", err)
	}
	return left
}
