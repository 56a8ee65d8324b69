package bringup

import (
	"context"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// StepHealth is the name of WaitHealthy's step, as journals store it.
const StepHealth = "health"

const (
	// healthTimeout is how long a cluster may take to become healthy once its node is Ready.
	healthTimeout = 20 * time.Minute
	// HealthHold is how long health has to hold before it ends a change. Operators act on a change some seconds after it was
	// made, and report themselves as done until then.
	HealthHold = time.Minute
	// maxObservedGap is the most that one observation proves of the time since the one before.
	maxObservedGap = 30 * time.Second
	healthPause    = 2 * time.Second
)

// elapsed adds up time from one observation to the next. A clock that is set forward, or back, adds no more than a gap
// between two observations may be, and never takes away.
type elapsed struct {
	last  time.Time
	total time.Duration
}

func (e *elapsed) addElapsed(now time.Time) time.Duration {
	if !e.last.IsZero() {
		e.total += min(max(0, now.Sub(e.last)), maxObservedGap)
	}
	e.last = now
	return e.total
}

// Hold tells for how long a cluster has been healthy without a break. The zero value has observed nothing.
type Hold struct{ healthy elapsed }

// Observe takes an observation in, and says whether health has held for HealthHold. One that is not healthy begins anew.
func (h *Hold) Observe(now time.Time, healthy bool) bool {
	if !healthy {
		*h = Hold{}
		return false
	}
	return h.healthy.addElapsed(now) >= HealthHold
}

// WaitHealthy waits until the cluster has been healthy for HealthHold; healthy says what is wrong. A cluster that is
// healthy when the time is over may complete its hold.
func WaitHealthy(healthy func(context.Context) error, clock flow.Clock) flow.Step {
	return flow.Step{
		Name: StepHealth, Title: "Wait until the cluster is healthy", Again: true,
		Do: func(ctx context.Context) error {
			var waited elapsed
			var hold Hold
			for {
				err := callWithTimeout(ctx, healthy)
				over := waited.addElapsed(clock.Now()) > healthTimeout
				if hold.Observe(clock.Now(), err == nil) {
					return nil
				}
				if err != nil && over {
					return fmt.Errorf("the cluster did not become healthy within %s: %w", healthTimeout, err)
				}
				if stopped := clock.Sleep(ctx, healthPause); stopped != nil {
					return fmt.Errorf("wait for the cluster to be healthy: %w", stopped)
				}
			}
		},
	}
}

// callWithTimeout asks once, and bounds how long the answer may take.
func callWithTimeout(ctx context.Context, ask func(context.Context) error) error {
	once, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	return ask(once)
}
