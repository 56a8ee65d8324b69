package nm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/vishvananda/netlink"
)

// recheck is how often a condition is looked at when no signal came: insurance
// against one that was missed.
const recheck = 250 * time.Millisecond

// events wakes its reader whenever NetworkManager or the kernel reports a change.
// Many changes at once make one wake-up.
type events struct {
	wake chan struct{}
	stop chan struct{}
	conn *dbus.Conn
	sigs chan *dbus.Signal
}

func (c *client) events() *events {
	e := &events{wake: make(chan struct{}, 1), stop: make(chan struct{}), conn: c.conn, sigs: make(chan *dbus.Signal, 64)}
	c.conn.Signal(e.sigs)
	// Without the subscription the recheck does the work alone, only slower.
	_ = c.conn.AddMatchSignal(dbus.WithMatchSender(busName))
	addrs := make(chan netlink.AddrUpdate, 64)
	routes := make(chan netlink.RouteUpdate, 64)
	_ = netlink.AddrSubscribe(addrs, e.stop)
	_ = netlink.RouteSubscribe(routes, e.stop)
	go e.run(addrs, routes)
	return e
}

func (e *events) run(addrs chan netlink.AddrUpdate, routes chan netlink.RouteUpdate) {
	for {
		var open bool
		select {
		case <-e.stop:
			return
		case _, open = <-e.sigs:
			if !open {
				e.sigs = nil
			}
		case _, open = <-addrs:
			if !open {
				addrs = nil
			}
		case _, open = <-routes:
			if !open {
				routes = nil
			}
		}
		select {
		case e.wake <- struct{}{}:
		default:
		}
	}
}

func (e *events) close() {
	e.conn.RemoveSignal(e.sigs)
	close(e.stop)
}

// until calls check after each event until it finds nothing missing. At the end of
// ctx it fails, naming what was missing last.
func (e *events) until(ctx context.Context, check func() (missing []string, err error)) error {
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		missing, err := check()
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), strings.Join(missing, "; "))
		case <-e.wake:
		case <-tick.C:
		}
	}
}
