package ipconfig

import (
	"context"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// gate holds a stage back while an image based upgrade uses the node: both choose what boots,
// and both keep files in the same workspace. An operation that was begun is never held
// back: it already has the node, and must come to its end.
func (r *Reconciler) gate(ctx context.Context, o observation) (out outcome, blocked bool, err error) {
	if o.request != nil {
		return outcome{}, false, nil
	}
	busy, err := cluster.ImageBasedUpgradeBusy(ctx, r.Reader)
	if err != nil || !busy {
		return outcome{}, false, err
	}
	return outcome{state: ipconfig.StateBlocked, message: msgBlocked, again: whileBlocked}, true, nil
}
