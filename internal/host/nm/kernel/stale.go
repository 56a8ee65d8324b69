package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// RemoveRoutes takes away the routes that were configured on an interface, whatever their metric. One that is not there is fine.
func RemoveRoutes(iface string, routes []netstate.Route) error {
	if len(routes) == 0 {
		return nil
	}
	link, err := netlink.LinkByName(iface)
	if err != nil {
		return fmt.Errorf("find link %s: %w", iface, err)
	}
	all, err := List(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	for _, r := range all {
		if r.LinkIndex != link.Attrs().Index || r.Protocol != unix.RTPROT_STATIC || !isOneOf(r, iface, routes) {
			continue
		}
		if err := netlink.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("remove route %s: %w", destinationOf(r), err)
		}
	}
	return nil
}

func isOneOf(r netlink.Route, iface string, routes []netstate.Route) bool {
	k := &State{names: map[int]string{r.LinkIndex: iface}}
	k.addRoute(r, r.LinkIndex, r.Gw, 0)
	return len(k.Routes) == 1 && slices.ContainsFunc(routes, func(o netstate.Route) bool { return netstate.SameRoute(o, k.Routes[0]) })
}
