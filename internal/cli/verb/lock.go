package verb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// lockTimeout is how long a verb waits for another to end, by default.
const lockTimeout = 2 * time.Minute

// Take takes the node's lock for a verb that works on the named operation. The log says who holds it meanwhile.
func (w Wiring) Take(ctx context.Context, holder, verb string) (release func(), err error) {
	me := host.Holder{Operation: holder, Program: "lca-cli " + verb}
	if h, held, err := w.Lock.Holder(ctx); err == nil && held && (h.Phase == "" || h.Flow() != me.Flow()) {
		w.Log.Info("waiting for the node", "verb", verb, "holder", h.String())
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(w.LockTimeout, lockTimeout))
	defer cancel()
	release, err = w.Lock.Acquire(ctx, me)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	return release, nil
}

// TakeOrProceed is Take for the last resort: a flow that hangs must not hold up the watchdog. The reboot that follows
// ends the holder, and every flow survives that.
func (w Wiring) TakeOrProceed(ctx context.Context, holder, verb string) (release func(), err error) {
	release, err = w.Take(ctx, holder, verb)
	if busy := (*host.BusyError)(nil); errors.As(err, &busy) && ctx.Err() == nil {
		w.Log.Error("proceeding without the node's lock", "verb", verb, "holder", busy.Holder.String())
		return func() {}, nil
	}
	return release, err
}
