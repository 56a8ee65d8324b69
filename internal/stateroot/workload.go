package stateroot

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Workload is everything that writes below /var: kubelet, the containers and their runtime.
type Workload struct {
	Units      host.Units
	Masks      host.RuntimeMasks
	Containers host.Containers
}

// Quiesce stops the cluster; its undo revives it. Kubelet's mask is in /run only: after a power cut the old system
// boots whole.
func Quiesce(w Workload) flow.Step {
	return flow.Step{Name: StepQuiesce, Title: "Stop the cluster", Do: w.stopCluster, Undo: w.Revive}
}

func (w Workload) stopCluster(ctx context.Context) error {
	// Stopped first: a masked unit has lost its own settings for the stop, KillMode= and the like.
	if err := w.Units.Stop(ctx, host.UnitKubelet); err != nil {
		return fmt.Errorf("stop %s: %w", host.UnitKubelet, err)
	}
	if err := w.Masks.Mask(ctx, host.UnitKubelet); err != nil {
		return fmt.Errorf("mask %s until the next boot: %w", host.UnitKubelet, err)
	}
	if err := w.Containers.StopAll(ctx); err != nil {
		return fmt.Errorf("stop the containers: %w", err)
	}
	if err := w.Units.Stop(ctx, host.UnitCRIO); err != nil {
		return fmt.Errorf("stop %s: %w", host.UnitCRIO, err)
	}
	return nil
}

// Revive brings the cluster back without a reboot.
func (w Workload) Revive(ctx context.Context) error {
	if err := w.Masks.Unmask(ctx, host.UnitKubelet); err != nil {
		return fmt.Errorf("unmask %s: %w", host.UnitKubelet, err)
	}
	for _, unit := range []string{host.UnitCRIO, host.UnitKubelet} {
		state, err := w.Units.State(ctx, unit)
		if err != nil {
			return fmt.Errorf("read the state of %s: %w", unit, err)
		}
		if !state.Exists() {
			continue
		}
		if err := w.Units.Start(ctx, unit); err != nil {
			return fmt.Errorf("start %s: %w", unit, err)
		}
	}
	return nil
}

// ReviveStopped brings the cluster back if Quiesce stopped it, which the mask shows.
func (w Workload) ReviveStopped(ctx context.Context) error {
	state, err := w.Units.State(ctx, host.UnitKubelet)
	if err != nil {
		return fmt.Errorf("read the state of %s: %w", host.UnitKubelet, err)
	}
	if state.Load != "masked" {
		return nil
	}
	return w.Revive(ctx)
}
