package stateroot

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Target picks a deployment among those of the node.
type Target func(all []host.Deployment) (host.Deployment, bool)

// FirstOf picks the stateroot's first deployment: right for a stateroot that an operation has just made, which has one.
func FirstOf(stateroot string) Target {
	return func(all []host.Deployment) (host.Deployment, bool) { return host.FirstOf(all, stateroot) }
}

// Running picks the deployment that runs, where that is of the stateroot, and else its first.
func Running(stateroot string) Target {
	return func(all []host.Deployment) (host.Deployment, bool) {
		if booted, err := host.Booted(all); err == nil && booted.Stateroot == stateroot {
			return booted, true
		}
		return host.FirstOf(all, stateroot)
	}
}

// Back picks the way back to the stateroot from the one that runs; see BackBy.
func Back(files host.Files, stateroot string) Target {
	return func(all []host.Deployment) (host.Deployment, bool) {
		booted, err := host.Booted(all)
		if err != nil {
			return host.Deployment{}, false
		}
		record, _, _ := operation.ReadStateroot(files, booted)
		return BackBy(record, stateroot)(all)
	}
}

// BackBy picks the deployment of the stateroot that the record of the running one names as its way back: the one that ran
// when it was made, and not an update that never ran. Where no record names one, as in a stateroot that an earlier version
// made, it is the first.
func BackBy(record operation.Stateroot, stateroot string) Target {
	return func(all []host.Deployment) (host.Deployment, bool) {
		if record.WayBack != nil && record.WayBack.Stateroot == stateroot {
			return record.WayBack.In(all)
		}
		return host.FirstOf(all, stateroot)
	}
}

func (t Target) findIn(ctx context.Context, d host.Deployments) (host.Deployment, bool, error) {
	all, err := d.List(ctx)
	if err != nil {
		return host.Deployment{}, false, fmt.Errorf("list deployments: %w", err)
	}
	found, ok := t(all)
	return found, ok, nil
}

func isDefault(ctx context.Context, d host.Deployments, stateroot string, t Target) (bool, error) {
	found, ok, err := t.findIn(ctx, d)
	if err != nil {
		return false, fmt.Errorf("find out whether %s is the default: %w", stateroot, err)
	}
	return ok && found.Default, nil
}

// WayBack picks the deployment that a rollback to the stateroot would boot, and refuses one that is missing or runs already.
func WayBack(ctx context.Context, files host.Files, d host.Deployments, stateroot string) (host.Deployment, error) {
	all, err := d.List(ctx)
	if err != nil {
		return host.Deployment{}, fmt.Errorf("list deployments: %w", err)
	}
	target, ok := Back(files, stateroot)(all)
	_, other := host.FirstOf(all, stateroot)
	switch {
	case !ok && other:
		return host.Deployment{}, operation.Refuse("the deployment of stateroot %s that ran before is no longer there: "+
			"there is nothing to go back to", stateroot)
	case !ok:
		return host.Deployment{}, operation.Refuse("stateroot %s is no longer there: there is nothing to go back to", stateroot)
	case target.Booted:
		return host.Deployment{}, operation.Refuse("stateroot %s is the one that runs: there is nothing to roll back", stateroot)
	}
	return target, nil
}
