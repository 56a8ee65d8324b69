package ipconfig

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// launch starts `lca-cli ip-config <verb...>` as a transient unit that outlives the
// operator. A unit that already runs is what was wanted.
func (r *Reconciler) launch(ctx context.Context, unit string, verb ...string) error {
	if err := r.Node.Transients.Forget(ctx, unit); err != nil {
		return fmt.Errorf("forget the failed unit %s: %w", unit, err)
	}
	err := r.Node.Transients.Launch(ctx, host.Transient{
		Unit: unit, Description: "lifecycle-agent: ip-config " + verb[0],
		Argv: append([]string{host.CLI, "ip-config"}, verb...),
		// With the cluster stopped nobody but systemd could start it again. The other verbs run while
		// the operator is there to do so, at longer and longer intervals, and to say why.
		Restart: unit == host.UnitPrePivot,
	})
	if err != nil && !errors.Is(err, host.ErrUnitRunning) {
		return fmt.Errorf("start unit %s: %w", unit, err)
	}
	return nil
}

// again starts the unit if no earlier try was too recent, and says so when it cannot.
func (r *Reconciler) again(ctx context.Context, o observation, tries *retry, unit string, verb ...string) error {
	if !tries.ready(o.now) {
		return nil
	}
	tries.began(o.now)
	return r.launch(ctx, unit, verb...)
}

// howItEnded describes a unit that failed, where its journal has nothing better.
func howItEnded(unit string, s host.UnitState, failure string) string {
	if failure != "" {
		return failure
	}
	return fmt.Sprintf("%s ended with %s (exit code %d); see 'journalctl -u %s' on the node", unit, s.Result, s.ExitCode, unit)
}
