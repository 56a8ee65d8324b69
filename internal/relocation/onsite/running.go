package onsite

import (
	"context"
	"fmt"
	"path"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

// removeLeftovers removes from a stateroot whose own cluster starts at boot what would continue there what is given up. Kubelet stays
// enabled: that cluster was never held back.
func (b *Back) removeLeftovers(ctx context.Context, r relocation.Running, target host.Deployment) error {
	for _, file := range r.Remove {
		if err := b.Files.Remove(host.InVar(target.Stateroot, file)); err != nil {
			return fmt.Errorf("remove %s from stateroot %s: %w", file, target.Stateroot, err)
		}
	}
	for _, unit := range r.Units {
		if err := b.Foreign.DisableIn(ctx, target.Dir(), unit); err != nil {
			return fmt.Errorf("disable %s in stateroot %s: %w", unit, target.Stateroot, err)
		}
		if err := b.Files.Remove(target.InDeployment(path.Join(host.UnitDir, unit))); err != nil {
			return fmt.Errorf("remove %s from stateroot %s: %w", unit, target.Stateroot, err)
		}
	}
	return nil
}
