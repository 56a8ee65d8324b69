package plan

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// planRoutes puts the document's routes into the profiles of their interfaces. A
// removal that names no interface concerns every profile.
func (p *Plan) planRoutes(config []netstate.Route) error {
	config, err := p.assignRouteHolders(config)
	if err != nil {
		return err
	}
	for _, iface := range p.routeCarriers(config) {
		c, err := p.ensureChange(netstate.Interface{Name: iface})
		if err != nil {
			return fmt.Errorf("routes through %s: %w", iface, err)
		}
		for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			if err := mergeRoutes(c.After, iface, f, config, p.now); err != nil {
				return fmt.Errorf("routes through %s: %w", iface, err)
			}
		}
	}
	return nil
}

// assignRouteHolders gives routes that lead nowhere the interface whose profile is to hold them: the one that does already, or one
// that has the family.
func (p *Plan) assignRouteHolders(config []netstate.Route) ([]netstate.Route, error) {
	out := slices.Clone(config)
	for n, r := range out {
		f, known := r.Family()
		if r.Removes() || r.RouteType == "" || !known {
			continue
		}
		iface, found := p.keeperOf(r, f)
		if !found {
			c, err := p.findHolder(f)
			if err != nil {
				c, err = p.loopback()
			}
			if err != nil {
				return nil, fmt.Errorf("find an interface to hold route %s: %w", r, err)
			}
			iface = c.Iface
		}
		out[n].NextHopInterface = iface
	}
	return out, nil
}

// keeperOf is the interface whose active profile has the route.
func (p *Plan) keeperOf(r netstate.Route, f netstate.Family) (string, bool) {
	for _, d := range p.snap.Devices {
		pr, ok := p.snap.ActiveOn(d.Name)
		if !ok {
			continue
		}
		have, _ := profile.ProfileRoutes(pr.Settings, d.Name, f)
		if slices.ContainsFunc(have, func(h netstate.Route) bool { return netstate.SameRoute(h, r) }) {
			return d.Name, true
		}
	}
	return "", false
}

// routeCarriers lists the interfaces whose profiles may have to change, once each.
func (p *Plan) routeCarriers(config []netstate.Route) []string {
	var out []string
	for _, r := range config {
		if r.NextHopInterface != "" {
			// An order to remove routes of an interface without profile asks for nothing.
			i := netstate.Interface{Name: r.NextHopInterface}
			_, own := p.profileFor(i)
			_, shared := p.sharedOn(i)
			if own || shared || !r.Removes() || p.isPlanned(r.NextHopInterface) {
				out = profile.AppendNew(out, []string{r.NextHopInterface})
			}
			continue
		}
		for _, d := range p.snap.Devices {
			if _, ok := p.snap.ActiveOn(d.Name); ok {
				out = profile.AppendNew(out, []string{d.Name})
			}
		}
	}
	return out
}

func (p *Plan) isPlanned(iface string) bool {
	for _, c := range p.Changes {
		if c.Iface == iface && c.Action == ActUp {
			return true
		}
	}
	return false
}

// mergeRoutes applies the removals and additions of one family to a profile. Nothing
// is rewritten unless the set of routes differs; then the old-style gateway
// becomes an ordinary route, so that there is one place to look.
func mergeRoutes(s profile.Settings, iface string, f netstate.Family, config []netstate.Route, now netstate.Document) error {
	have, raw := profile.ProfileRoutes(s, iface, f)
	var mine []netstate.Route
	for _, r := range config {
		if fam, known := r.Family(); known && fam != f {
			continue
		}
		if r.Removes() || r.NextHopInterface == iface {
			mine = append(mine, r)
		}
	}
	merged := netstate.MergeRoutes(have, mine)
	if equalRoutes(have, merged, now) {
		return nil
	}
	var out []map[string]dbus.Variant
	for _, r := range merged {
		entry, err := routeEntry(r, have, raw)
		if err != nil {
			return err
		}
		out = append(out, entry)
	}
	sec := profile.Section(f)
	s.Drop(sec, "gateway", "route-data")
	if len(out) > 0 {
		s.Set(sec, "route-data", out)
		if profile.Value[bool](s, sec, "never-default") {
			s.Set(sec, "never-default", false)
		}
	}
	return nil
}

// equalRoutes compares two sets. A metric that one side does not name is equal to the
// other's where the route runs with that metric.
func equalRoutes(have, merged []netstate.Route, now netstate.Document) bool {
	if len(have) != len(merged) {
		return false
	}
	for _, m := range merged {
		found := false
		for _, h := range have {
			same := m.Metric == h.Metric || m.Metric == 0 || h.Metric == 0 && isRunning(m, now)
			found = found || netstate.SameRoute(h, m) && same && m.SameProperties(h)
		}
		if !found {
			return false
		}
	}
	return true
}

func isRunning(r netstate.Route, now netstate.Document) bool {
	return now.Routes != nil && slices.ContainsFunc(now.Routes.Running, func(o netstate.Route) bool {
		return netstate.SameRoute(o, r) && o.Metric == r.Metric
	})
}

// routeEntry is the route as NetworkManager wants it; an entry that stays is kept
// with all it says (source address, window, ...).
func routeEntry(r netstate.Route, have []netstate.Route, raw []map[string]dbus.Variant) (map[string]dbus.Variant, error) {
	for i, h := range have {
		if raw[i] != nil && netstate.SameRoute(h, r) && h.Metric == r.Metric && h.SameProperties(r) {
			return raw[i], nil
		}
	}
	dest, err := netstate.ParseDestination(r.Destination)
	if err != nil {
		return nil, fmt.Errorf("parse the destination of a route: %w", err)
	}
	e := map[string]dbus.Variant{
		"dest":   dbus.MakeVariant(dest.Addr().String()),
		"prefix": dbus.MakeVariant(uint32(dest.Bits())),
	}
	if a, err := netip.ParseAddr(r.NextHopAddress); err == nil && !a.IsUnspecified() {
		e["next-hop"] = dbus.MakeVariant(a.WithZone("").String())
	}
	if r.Metric > 0 {
		e["metric"] = dbus.MakeVariant(uint32(r.Metric))
	}
	if r.Table() != netstate.MainTable {
		e["table"] = dbus.MakeVariant(uint32(r.Table()))
	}
	routeProperties(e, r)
	return e, nil
}

func routeProperties(e map[string]dbus.Variant, r netstate.Route) {
	if r.RouteType != "" {
		e["type"] = dbus.MakeVariant(r.RouteType)
	}
	if a, err := netip.ParseAddr(r.Source); err == nil {
		e["src"] = dbus.MakeVariant(a.String())
	}
	if r.CWND > 0 {
		// The kernel obeys a congestion window that is locked.
		e["cwnd"], e["lock-cwnd"] = dbus.MakeVariant(uint32(r.CWND)), dbus.MakeVariant(true)
	}
	if r.Weight > 0 {
		e["weight"] = dbus.MakeVariant(uint32(r.Weight))
	}
}
