package nm

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/watch"
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

	mu         sync.Mutex
	duplicates map[int]netip.Addr // by link index: the last address that another machine uses
}

func (c *client) subscribeEvents() *events {
	e := &events{
		wake: make(chan struct{}, 1), stop: make(chan struct{}), conn: c.conn, sigs: make(chan *dbus.Signal, 64),
		duplicates: map[int]netip.Addr{},
	}
	c.conn.Signal(e.sigs)
	// Without the subscription the recheck does the work alone, only slower.
	_ = c.conn.AddMatchSignal(dbus.WithMatchSender(busName))
	addrs := make(chan netlink.AddrUpdate, 64)
	routes := make(chan netlink.RouteUpdate, 64)
	_ = netlink.AddrSubscribe(addrs, e.stop)
	_ = netlink.RouteSubscribe(routes, e.stop)
	go e.forwardEvents(addrs, routes)
	return e
}

func (e *events) forwardEvents(addrs chan netlink.AddrUpdate, routes chan netlink.RouteUpdate) {
	for {
		var open bool
		select {
		case <-e.stop:
			return
		case _, open = <-e.sigs:
			if !open {
				e.sigs = nil
			}
		case a, ok := <-addrs:
			if !ok {
				addrs = nil
			}
			e.recordDuplicate(a)
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

// recordDuplicate keeps failures of duplicate address detection: NetworkManager removes the address at once.
func (e *events) recordDuplicate(a netlink.AddrUpdate) {
	addr, ok := netip.AddrFromSlice(a.LinkAddress.IP)
	if !ok || a.Flags&unix.IFA_F_DADFAILED == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.duplicates[a.LinkIndex] = addr.Unmap()
}

// duplicateOn says which address of the link another machine has.
func (e *events) duplicateOn(link int) (netip.Addr, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, ok := e.duplicates[link]
	return a, ok
}

func (e *events) close() {
	e.conn.RemoveSignal(e.sigs)
	close(e.stop)
}

// waitFor calls check after each event until it finds nothing missing. At the end of
// ctx it fails, naming what was missing last.
func (e *events) waitFor(ctx context.Context, check func() (missing []string, err error)) error {
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

// Changes implements host.NetworkWatch.
func (n *Network) Changes(ctx context.Context) (<-chan struct{}, error) {
	sources := []watch.Source{watch.Kernel, watch.Manager(n.o.Bus, busName)}
	if w, ok := n.o.Switch.(Watcher); ok {
		sources = append(sources, w.Watch)
	}
	return watch.Start(ctx, sources...), nil
}
