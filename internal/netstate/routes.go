package netstate

import (
	"fmt"
	"net/netip"
)

// MainTable is the kernel's main routing table; a route without table means this one.
const MainTable = 254

// Removes says that the route is an order to remove the ones it matches.
func (r Route) Removes() bool { return r.State == StateAbsent }

// Table is the route's table, the main one where none is named.
func (r Route) Table() int {
	if r.TableID == 0 {
		return MainTable
	}
	return r.TableID
}

// Family is the family of the destination, or of the next hop where there is none.
func (r Route) Family() (Family, bool) {
	if p, err := ParseDestination(r.Destination); err == nil {
		return FamilyOf(p.Addr()), true
	}
	if a, err := netip.ParseAddr(r.NextHopAddress); err == nil {
		return FamilyOf(a), true
	}
	return 0, false
}

// SameRoute says that two routes are one and the same: equal destination, next hop,
// interface and table. The metric is a property of a route, not part of what it is.
func SameRoute(a, b Route) bool {
	return sameDestination(a.Destination, b.Destination) &&
		sameHop(a.NextHopAddress, b.NextHopAddress) &&
		a.NextHopInterface == b.NextHopInterface && a.Table() == b.Table()
}

// Matches says that the removal order r applies to the route have: every field the
// order names is equal. The metric is never compared, as in nmstate.
func (r Route) Matches(have Route) bool {
	if r.Destination != "" && !sameDestination(r.Destination, have.Destination) {
		return false
	}
	if r.NextHopInterface != "" && r.NextHopInterface != have.NextHopInterface {
		return false
	}
	if r.NextHopAddress != "" && !sameHop(r.NextHopAddress, have.NextHopAddress) {
		return false
	}
	return r.TableID == 0 || r.Table() == have.Table()
}

// MergeRoutes gives the routes that result from applying a document's routes.config
// to what is there: removals first, then additions, which replace the same route with
// another metric. The order of what stays is kept.
func MergeRoutes(have, config []Route) []Route {
	var out []Route
	for _, h := range have {
		if !removedBy(h, config) && !replacedBy(h, config) {
			out = append(out, h)
		}
	}
	for _, c := range config {
		if !c.Removes() && !anySame(out, c) {
			out = append(out, c)
		}
	}
	return out
}

func removedBy(have Route, config []Route) bool {
	for _, c := range config {
		if c.Removes() && c.Matches(have) {
			return true
		}
	}
	return false
}

func replacedBy(have Route, config []Route) bool {
	for _, c := range config {
		if !c.Removes() && SameRoute(c, have) {
			return true
		}
	}
	return false
}

func anySame(all []Route, r Route) bool {
	for _, o := range all {
		if SameRoute(o, r) {
			return true
		}
	}
	return false
}

// DefaultGateway finds the next hop of the family's default route in the main table
// through the interface ("" for any): the running one with the lowest metric, or the
// configured one in a document that has no running routes.
func DefaultGateway(d Document, f Family, iface string) (netip.Addr, bool) {
	r, ok := DefaultRoute(d, f, iface)
	if !ok {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(r.NextHopAddress)
	return a, err == nil
}

// DefaultRoute finds the whole route behind DefaultGateway. Default routes
// without a next hop (point-to-point links) do not count.
func DefaultRoute(d Document, f Family, iface string) (Route, bool) {
	if d.Routes == nil {
		return Route{}, false
	}
	all := d.Routes.Running
	if len(all) == 0 {
		all = d.Routes.Config
	}
	var best Route
	found := false
	for _, r := range all {
		if !isDefault(r, f) || r.Removes() || (iface != "" && r.NextHopInterface != iface) {
			continue
		}
		if !found || r.Metric < best.Metric {
			best, found = r, true
		}
	}
	return best, found
}

func isDefault(r Route, f Family) bool {
	p, err := ParseDestination(r.Destination)
	if err != nil || p != f.Default() || r.Table() != MainTable {
		return false
	}
	_, err = netip.ParseAddr(r.NextHopAddress)
	return err == nil
}

func sameDestination(a, b string) bool {
	pa, errA := ParseDestination(a)
	pb, errB := ParseDestination(b)
	return errA == nil && errB == nil && pa == pb
}

func sameHop(a, b string) bool {
	ha, okA := hop(a)
	hb, okB := hop(b)
	return okA && okB && ha == hb
}

// hop reads a next hop; the zone only repeats the interface, and an
// unspecified address means a route without one.
func hop(s string) (netip.Addr, bool) {
	if s == "" {
		return netip.Addr{}, true
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}, false
	}
	if a.IsUnspecified() {
		return netip.Addr{}, true
	}
	return a.WithZone(""), true
}

// String writes the route the way ip(8) does.
func (r Route) String() string {
	s := r.Destination
	if r.NextHopAddress != "" {
		s += " via " + r.NextHopAddress
	}
	if r.NextHopInterface != "" {
		s += " dev " + r.NextHopInterface
	}
	if r.Metric != 0 {
		s += fmt.Sprintf(" metric %d", r.Metric)
	}
	if r.Table() != MainTable {
		s += fmt.Sprintf(" table %d", r.TableID)
	}
	return s
}
