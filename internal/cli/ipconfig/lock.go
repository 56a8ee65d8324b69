package ipconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// lockPatience is how long a verb waits for another to end, by default.
const lockPatience = 2 * time.Minute

// takeNode takes the node's lock for a verb. Whoever has to wait is told for whom.
func takeNode(ctx context.Context, w Wiring, node ipconfig.Node, verb string) (release func(), err error) {
	me := host.Holder{Operation: ipconfig.HolderName(node.Files), Program: "lca-cli " + verb}
	if h, held, err := w.Lock.Holder(ctx); err == nil && held && (h.Phase == "" || h.Flow() != me.Flow()) {
		w.Log.Info("waiting for the node", "verb", verb, "holder", h.String())
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(w.Patience, lockPatience))
	defer cancel()
	release, err = w.Lock.Acquire(ctx, me)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	return release, nil
}

// TakeNodeOrGoOn is takeNode for the last resort: a watchdog must not be held up by a flow that hangs. The
// reboot that follows ends whoever still has the node, and every flow survives being ended.
func TakeNodeOrGoOn(ctx context.Context, w Wiring, node ipconfig.Node, verb string) (release func(), err error) {
	release, err = takeNode(ctx, w, node, verb)
	if busy := (*host.BusyError)(nil); errors.As(err, &busy) && ctx.Err() == nil {
		w.Log.Error("the node is taken from its holder", "verb", verb, "holder", busy.Holder.String())
		return func() {}, nil
	}
	return release, err
}
