package stateroot

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Step names, as journals store them.
const (
	StepClone     = "clone-stateroot"
	StepCopyLive  = "copy-while-running"
	StepQuiesce   = "quiesce"
	StepCopyFinal = "copy-final"
	StepSeal      = "seal"
	StepFlip      = "flip-default"
	StepReboot    = "reboot"
	StepCheckSeal = "check-seal"
	StepFlipBack  = "flip-back"
	StepRemove    = "remove-stateroots"
)

// Pair names the stateroot that runs and the one that is made from it.
type Pair struct{ Old, New string }

// Deployments finds both. It fails where another stateroot than Old runs, or New is not deployed.
func (p Pair) Deployments(ctx context.Context, d host.Deployments) (old, target host.Deployment, err error) {
	all, err := d.List(ctx)
	if err != nil {
		return old, target, fmt.Errorf("list deployments: %w", err)
	}
	if old, err = host.Booted(all); err != nil {
		return old, target, fmt.Errorf("find the booted deployment: %w", err)
	}
	if old.Stateroot != p.Old {
		return old, target, fmt.Errorf("stateroot %s is booted, the request was made for %s", old.Stateroot, p.Old)
	}
	target, ok := host.FirstOf(all, p.New)
	if !ok {
		return old, target, fmt.Errorf("stateroot %s has no deployment", p.New)
	}
	return old, target, nil
}
