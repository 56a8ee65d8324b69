package nm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// carrierTime is how long a card may take to find its link after boot. Without one it
// cannot be activated, so waiting longer only delays the error.
const carrierTime = 15 * time.Second

// errNotReady ends the wait; what was missing then shows in the change itself.
var errNotReady = errors.New("not ready in time")

// ready waits, right after boot, until NetworkManager has started up and the wanted
// cards have a link, and leaves the snapshot it has seen. It gives up without an error: the change then says what is wrong.
func (t *transaction) ready(ctx context.Context) error {
	check := func() ([]string, error) { return t.notReady(ctx) }
	if missing, err := check(); err != nil || len(missing) == 0 {
		return err
	}
	e := t.c.events()
	defer e.close()
	bounded, cancel := context.WithTimeoutCause(ctx, min(carrierTime, t.n.o.Settle), errNotReady)
	defer cancel()
	err := e.until(bounded, check)
	if errors.Is(err, errNotReady) {
		t.log.Warn("going on without waiting any longer", "missing", err)
		t.snap, err = t.c.snapshot(ctx)
		return err
	}
	return err
}

func (t *transaction) notReady(ctx context.Context) ([]string, error) {
	p, err := t.c.properties(ctx, pathManager, ifaceManager)
	if err != nil {
		return nil, err
	}
	if get[bool](p, "Startup") {
		return []string{"NetworkManager is starting up"}, nil
	}
	if t.snap, err = t.c.snapshot(ctx); err != nil {
		return nil, err
	}
	var out []string
	for _, i := range t.want.Interfaces {
		for _, d := range t.snap.devices {
			if d.name == i.Name && d.state == deviceUnavailable && i.State != netstate.StateAbsent && i.State != netstate.StateDown {
				out = append(out, fmt.Sprintf("%s has no link", d.name))
			}
		}
	}
	return out, nil
}
