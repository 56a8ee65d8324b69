// Package nodejob runs programs on the node for a controller: as transient systemd units, which outlive the controller's
// pod. It starts a job, says how it ended, and spaces out retries. It knows no kind and no flow.
package nodejob

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Job is a program that runs once on the node.
type Job struct {
	Unit        string
	Description string
	Argv        []string
	// Restart has systemd restart a failed run: for a job that stops the cluster, so that no controller can.
	Restart bool
}

// Start starts the job. A job that runs already is left alone, a failed earlier run is forgotten.
func Start(ctx context.Context, on host.Transients, j Job) error {
	if err := on.Forget(ctx, j.Unit); err != nil {
		return fmt.Errorf("forget the failed unit %s: %w", j.Unit, err)
	}
	err := on.Launch(ctx, host.Transient{Unit: j.Unit, Description: j.Description, Argv: j.Argv, Restart: j.Restart})
	if err != nil && !errors.Is(err, host.ErrUnitRunning) {
		return fmt.Errorf("start unit %s: %w", j.Unit, err)
	}
	return nil
}

// Retry starts the job unless it is too early for another attempt.
func Retry(ctx context.Context, on host.Transients, j Job, b *Backoff, now time.Time) error {
	if !b.Ready(now) {
		return nil
	}
	b.Begin(now)
	return Start(ctx, on, j)
}

// Units reads the state of systemd units.
type Units interface {
	State(ctx context.Context, unit string) (host.UnitState, error)
}

// Observe reads the state of every named unit.
func Observe(ctx context.Context, units Units, names ...string) (map[string]host.UnitState, error) {
	states := map[string]host.UnitState{}
	for _, name := range names {
		state, err := units.State(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("observe unit %s: %w", name, err)
		}
		states[name] = state
	}
	return states, nil
}

// HowItEnded describes the end of a failed unit: by the failure that its journal names, or else by its exit.
func HowItEnded(unit string, s host.UnitState, failure string) string {
	if failure != "" {
		return failure
	}
	return fmt.Sprintf("%s ended with %s (exit code %d); see 'journalctl -u %s' on the node", unit, s.Result, s.ExitCode, unit)
}
