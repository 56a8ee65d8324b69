package kernel

import (
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// dropUnlockedWindows leaves out the congestion windows that the kernel does not keep to: those without their lock (ip-route(8)).
func dropUnlockedWindows(all []netlink.Route) error {
	messages, err := ReadMessages()
	if err != nil {
		return err
	}
	locked := map[routeKey]bool{}
	for _, m := range messages.routes {
		r, err := m.parseRoute()
		if err == nil {
			locked[r.routeKey] = locked[r.routeKey] || r.keepsWindow
		}
	}
	for n, r := range all {
		to, err := netip.ParsePrefix(destinationOf(r))
		if err != nil || !locked[routeKey{destination: to, tos: r.Tos, table: r.Table, priority: r.Priority}] {
			all[n].Cwnd = 0
		}
	}
	return nil
}

// keepsWindow says that the metrics of a route have a congestion window with its lock.
func keepsWindow(metrics []byte) bool {
	attrs, err := parseAttributes(metrics)
	return err == nil && attrs.numberOf(unix.RTAX_LOCK)&(1<<unix.RTAX_CWND) != 0
}
