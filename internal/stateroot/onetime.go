package stateroot

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Step names, as journals store them.
const (
	StepPrepareBoot = "prepare-one-time-boot"
	StepKeepDefault = "keep-default"
)

// OneTime is how a new stateroot boots before it is proved: once, where the boot loader can do that.
type OneTime struct {
	Deployments host.Deployments
	Once        host.OneTimeBoot
	// Wanted: the node is to come back by itself.
	Wanted bool
	// Note journals which of both it is; why says what keeps the node from it.
	Note func(once bool, why string) error
}

// Usable says why the new stateroot boots until it is proved or rolled back, and not once.
func (o OneTime) Usable(ctx context.Context) error {
	if !o.Wanted {
		return errNotWanted
	}
	return o.Once.Usable(ctx)
}

var errNotWanted = errors.New("automatic rollback is switched off")

// Prepare installs what the boot loader needs. It comes before the new stateroot is deployed: ostree then flushes /boot, which
// a boot loader reads without replaying a journal.
func (o OneTime) Prepare() flow.Step {
	return flow.Step{
		Name: StepPrepareBoot, Title: "Prepare the boot loader to start the new stateroot once",
		Do: func(ctx context.Context) error {
			if why := o.Usable(ctx); why != nil {
				return o.Note(false, why.Error())
			}
			if err := o.Once.Install(ctx); err != nil {
				return err
			}
			return o.Note(true, "")
		},
		Undo: func(ctx context.Context) error { return o.Once.Uninstall(ctx) },
	}
}

// Flip has the new stateroot boot next: once, where the boot loader can do that; else it becomes the default. Its undo has the
// deployment that runs boot again.
func (o OneTime) Flip(p Pair) flow.Step {
	s := Flip(o.Deployments, p)
	isNext, choose, undo := s.Check, s.Do, s.Undo
	s.Check = func(ctx context.Context) (bool, error) {
		d, found, err := o.Once.ChosenOnce(ctx)
		if err != nil {
			return false, fmt.Errorf("find out what boots once: %w", err)
		}
		if found && d.Stateroot == p.New {
			return true, nil
		}
		return isNext(ctx)
	}
	s.Do = func(ctx context.Context) error {
		if o.Usable(ctx) != nil {
			return choose(ctx)
		}
		target, found, err := FirstOf(p.New).findIn(ctx, o.Deployments)
		if err != nil {
			return fmt.Errorf("boot %s once: %w", p.New, err)
		}
		if !found {
			return fmt.Errorf("boot %s once: it has no deployment", p.New)
		}
		return o.Once.ChooseOnce(ctx, target)
	}
	s.Undo = func(ctx context.Context) error {
		if err := o.Once.Uninstall(ctx); err != nil {
			return err
		}
		return undo(ctx)
	}
	return s
}

// KeepDefault makes the deployment that runs, and is proved, the default for good. Until then any other boot starts the old system.
func KeepDefault(d host.Deployments, once host.OneTimeBoot) flow.Step {
	booted := Target(func(all []host.Deployment) (host.Deployment, bool) {
		found, err := host.Booted(all)
		return found, err == nil
	})
	return flow.Step{
		Name: StepKeepDefault, Title: "Make this stateroot the default for good",
		Check: func(ctx context.Context) (bool, error) { return isDefault(ctx, d, "the stateroot that runs", booted) },
		Do: func(ctx context.Context) error {
			if err := once.Uninstall(ctx); err != nil {
				return err
			}
			return makeDefault(ctx, d, "the stateroot that runs", booted)
		},
	}
}
