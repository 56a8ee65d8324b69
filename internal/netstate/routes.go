package netstate

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
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
// interface and table. The metric is a property of a route, not part of what it is, and so is
// what a route that leads nowhere does to its packets.
func SameRoute(a, b Route) bool {
	if !sameDestination(a.Destination, b.Destination) || a.Table() != b.Table() || a.dropsPackets() != b.dropsPackets() {
		return false
	}
	return a.dropsPackets() || sameHop(a.NextHopAddress, b.NextHopAddress) && a.NextHopInterface == b.NextHopInterface
}

// dropsPackets says that the route drops its packets: it has no next hop, and no interface that means something.
func (r Route) dropsPackets() bool { return r.RouteType != "" }

// Matches says that the removal order r applies to the route have: every field the
// order names is equal. The metric is never compared, as in nmstate.
func (r Route) Matches(have Route) bool {
	if r.Destination != "" && !sameDestination(r.Destination, have.Destination) {
		return false
	}
	onLoopback := have.dropsPackets() && r.NextHopInterface == "lo"
	if r.NextHopInterface != "" && r.NextHopInterface != have.NextHopInterface && !onLoopback {
		return false
	}
	if r.RouteType != "" && r.RouteType != have.RouteType || r.Source != "" && !sameHop(r.Source, have.Source) {
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
			out = append(out, c.withPropertiesOf(have, config))
		}
	}
	return out
}

// withPropertiesOf has the properties that the route does not mention as the same route has them now, unless that one is to go first.
func (r Route) withPropertiesOf(have, config []Route) Route {
	if r.dropsPackets() {
		r.NextHopInterface = ""
	}
	for _, h := range have {
		if !SameRoute(h, r) || removedBy(h, config) {
			continue
		}
		r.Source, r.CWND, r.Weight = cmp.Or(r.Source, h.Source), cmp.Or(r.CWND, h.CWND), cmp.Or(r.Weight, h.Weight)
		r.Metric = cmp.Or(r.Metric, h.Metric)
		break
	}
	return r
}

// SameProperties compares what a route has besides what it is, but for its metric.
func (r Route) SameProperties(o Route) bool {
	return r.RouteType == o.RouteType && sameHop(r.Source, o.Source) && r.CWND == o.CWND && r.Weight == o.Weight
}

// isInForce says that an observed route has the properties that the desired one mentions. The kernel shows a weight only
// where several routes share one destination.
func (r Route) isInForce(have Route, shared bool) bool {
	return SameRoute(r, have) && (r.Metric == 0 || r.Metric == have.Metric) && r.RouteType == have.RouteType &&
		(r.Source == "" || sameHop(r.Source, have.Source)) && (r.CWND == 0 || r.CWND == have.CWND) &&
		(r.Weight == 0 || r.Weight == have.Weight || !shared && have.Weight == 0)
}

// isMultipath says that another route of the list has a weight for the same destination.
func (r Route) isMultipath(all []Route) bool {
	return slices.ContainsFunc(all, func(o Route) bool {
		return !o.Removes() && o.Weight > 0 && !SameRoute(o, r) && sameDestination(o.Destination, r.Destination) && o.Table() == r.Table()
	})
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
	ha, okA := parseHop(a)
	hb, okB := parseHop(b)
	return okA && okB && ha == hb
}

// parseHop reads a next hop; the zone only repeats the interface, and an
// unspecified address means a route without one.
func parseHop(s string) (netip.Addr, bool) {
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
	s := strings.TrimSpace(r.RouteType + " " + r.Destination)
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
	if r.Source != "" {
		s += " src " + r.Source
	}
	if r.CWND != 0 {
		s += fmt.Sprintf(" cwnd %d", r.CWND)
	}
	if r.Weight != 0 {
		s += fmt.Sprintf(" weight %d", r.Weight)
	}
	return s
}
