package bringup

import (
	"context"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// persistTimeout is how long an API server that restarts may hold up a change of its objects.
const persistTimeout = 10 * time.Minute

// Persist repeats a change of the cluster's objects until it succeeds, for as long as an API server may be restarting.
func Persist(ctx context.Context, clock flow.Clock, change func(context.Context) error) error {
	return until(ctx, clock, wait{persistTimeout, 2 * time.Second}, change)
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
