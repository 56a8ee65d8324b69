package ipconfig

import (
	"context"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// gate holds a stage back while somebody else uses the node: an image based upgrade, which also chooses what
// boots and keeps files in the same workspace, or whoever has the node's lock. An operation
// that was begun is never held back: it already has the node, and must come to its end.
func (r *Reconciler) gate(ctx context.Context, o observation) (out outcome, blocked bool, err error) {
	if o.request != nil {
		return outcome{}, false, nil
	}
	out = outcome{state: ipconfig.StateBlocked, again: whileBlocked}
	if o.busy != nil {
		out.message = (&host.BusyError{Holder: *o.busy}).Error()
		return out, true, nil
	}
	busy, err := cluster.ImageBasedUpgradeBusy(ctx, r.Reader)
	if err != nil || !busy {
		return outcome{}, false, err
	}
	out.message = msgBlocked
	return out, true, nil
}
