package bringup

import (
	"context"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// PersistTimeout is how long an API server that restarts may hold up a change of its objects.
const PersistTimeout = 10 * time.Minute

const persistPause = 2 * time.Second

// Persist repeats a change of the cluster's objects until it succeeds, or has been tried for as long as its error deserves.
func Persist(ctx context.Context, clock flow.Clock, deserves func(error) time.Duration, change func(context.Context) error) error {
	for start := clock.Now(); ; {
		err := change(ctx)
		if err == nil || clock.Now().Sub(start) >= deserves(err) || clock.Sleep(ctx, persistPause) != nil {
			return err
		}
	}
}

// RestartDNS has the node's own DNS server read its files again; a node without one has nothing to restart.
func RestartDNS(ctx context.Context, units host.Units) error {
	s, err := units.State(ctx, host.UnitDnsmasq)
	if err != nil {
		return fmt.Errorf("read the state of %s: %w", host.UnitDnsmasq, err)
	}
	if !s.Exists() {
		return nil
	}
	if err := units.Stop(ctx, host.UnitDnsmasq); err != nil {
		return fmt.Errorf("stop %s: %w", host.UnitDnsmasq, err)
	}
	if err := units.Start(ctx, host.UnitDnsmasq); err != nil {
		return fmt.Errorf("start %s: %w", host.UnitDnsmasq, err)
	}
	return nil
}
