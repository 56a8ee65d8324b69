package stateroot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Flip makes the new stateroot the default; its undo makes the deployment that runs the default again.
func Flip(d host.Deployments, p Pair) flow.Step {
	return flow.Step{
		Name: StepFlip, Title: "Make the new stateroot the default",
		Check: func(ctx context.Context) (bool, error) { return isDefault(ctx, d, p.New, FirstOf(p.New)) },
		Do: func(ctx context.Context) error {
			if err := d.SetDefault(ctx, p.New); err != nil {
				return fmt.Errorf("make %s the default: %w", p.New, err)
			}
			return nil
		},
		Undo: func(ctx context.Context) error { return makeDefault(ctx, d, p.Old, Running(p.Old)) },
	}
}

// FlipBack flushes what a rollback has written and makes the way back in that stateroot the default. From here on a request
// to stop this program is ignored: what boots next and what runs must not stay two different things. It runs where that is the
// default already, too: a system that boots once has not taken its place.
func FlipBack(d host.Deployments, trees host.Trees, stateroot string, to Target) flow.Step {
	return flow.Step{
		Name: StepFlipBack, Title: "Make the old stateroot the default", Again: true,
		Do: func(ctx context.Context) error {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("make %s the default: %w", stateroot, err)
			}
			if err := trees.Sync(host.DeployDir); err != nil {
				return fmt.Errorf("flush %s to the disk: %w", host.DeployDir, err)
			}
			return makeDefault(context.WithoutCancel(ctx), d, stateroot, to)
		},
	}
}

func makeDefault(ctx context.Context, d host.Deployments, stateroot string, to Target) error {
	target, found, err := to.findIn(ctx, d)
	if err != nil {
		return fmt.Errorf("make %s the default: %w", stateroot, err)
	}
	if !found {
		return fmt.Errorf("make %s the default: its deployment is missing", stateroot)
	}
	if err := d.Choose(ctx, target); err != nil {
		return fmt.Errorf("make %s the default: %w", stateroot, err)
	}
	return nil
}

// rebootTimeout is how long an orderly reboot may take to end this process.
const rebootTimeout = 10 * time.Minute

// Reboot requests a reboot and waits for it to end this process. The default has changed by now, so a request to stop
// this program is no reason not to.
func Reboot(power host.Power, clock flow.Clock, reason string) flow.Step {
	return flow.Step{Name: StepReboot, Title: "Reboot into the new stateroot", Do: func(ctx context.Context) error {
		if err := power.Reboot(context.WithoutCancel(ctx), reason); err != nil {
			return fmt.Errorf("reboot: %w", err)
		}
		if err := clock.Sleep(ctx, rebootTimeout); err != nil {
			return flow.ErrLeaving
		}
		return errors.New("the node did not go down within " + rebootTimeout.String())
	}}
}
