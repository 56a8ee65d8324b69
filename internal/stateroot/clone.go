package stateroot

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Clone deploys the booted system into the stateroot, with its kernel arguments; its undo removes that.
func Clone(d host.Deployments, stateroot string) flow.Step {
	return CloneWith(d, stateroot, func(context.Context) ([]string, error) { return nil, nil })
}

// CloneWith is Clone with kernel arguments of the caller's; none: those of the booted system.
func CloneWith(d host.Deployments, stateroot string, kernel func(context.Context) ([]string, error)) flow.Step {
	return flow.Step{
		Name: StepClone, Title: "Deploy the new stateroot",
		Do: func(ctx context.Context) error {
			arguments, err := kernel(ctx)
			if err != nil {
				return err
			}
			if _, err := d.Clone(ctx, stateroot, arguments...); err != nil {
				return fmt.Errorf("deploy stateroot %s: %w", stateroot, err)
			}
			return nil
		},
		Undo: func(ctx context.Context) error {
			if err := d.Remove(ctx, stateroot); err != nil {
				return fmt.Errorf("remove stateroot %s: %w", stateroot, err)
			}
			return nil
		},
	}
}

// Doomed selects a stateroot that is to be removed, given the deployments of the node and the one that runs.
type Doomed func(stateroot string, all []host.Deployment, booted host.Deployment) bool

// RemoveOthers makes the booted stateroot the default and removes the others that are doomed, for good. It never
// removes the booted one.
func RemoveOthers(d host.Deployments, doomed Doomed) flow.Step {
	return flow.Step{
		Name: StepRemove, Title: "Remove the other stateroot", Again: true,
		Do: func(ctx context.Context) error { return removeOthers(ctx, d, doomed) },
	}
}

func removeOthers(ctx context.Context, d host.Deployments, doomed Doomed) error {
	all, err := d.List(ctx)
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	booted, err := host.Booted(all)
	if err != nil {
		return fmt.Errorf("find the booted deployment: %w", err)
	}
	if len(all) > 0 && all[0].Stateroot != booted.Stateroot { // an update of the running stateroot may be what boots next
		if err := d.Choose(ctx, booted); err != nil {
			return fmt.Errorf("make the booted stateroot %s the default: %w", booted.Stateroot, err)
		}
	}
	names, err := d.Stateroots(ctx)
	if err != nil {
		return fmt.Errorf("list stateroots: %w", err)
	}
	for _, name := range names {
		if name == booted.Stateroot || !doomed(name, all, booted) {
			continue
		}
		if err := d.Remove(ctx, name); err != nil {
			return fmt.Errorf("remove stateroot %s: %w", name, err)
		}
	}
	return nil
}
