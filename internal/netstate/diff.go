package netstate

import (
	"reflect"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// Diff is the part of want that applying it to now would change: nothing else is in it, and nothing at all where
// everything is in place. Interfaces keep their name, type and state.
func Diff(now, want Document) Document {
	out := diffDocuments(now.Canonical(), Merge(now, want).Canonical(), want)
	for _, w := range want.Interfaces {
		if w.Identifier != IdentifierMAC {
			continue
		}
		// How the interface is found is part of what is asked for, so the request stays whole.
		if n, ok := findByMAC(now.Interfaces, w.MACAddress); ok {
			name := now.Interfaces[n].Name
			k := slices.IndexFunc(out.Interfaces, func(i Interface) bool { return i.Name == name })
			if k >= 0 {
				out.Interfaces[k] = w
			}
		}
	}
	return out
}

// Transition is the document that turns one whole state into another: what to lacks is taken away. Applying it to
// from gives to, but for single settings that from has and to is silent about, which nothing can take away.
func Transition(from, to Document) Document {
	return diffDocuments(from.Canonical(), to.Canonical(), Document{})
}

// Revert is the document that undoes applying want to now: it removes what is new, restores what was changed, and
// mentions nothing else. It is empty for a document that changes nothing.
func Revert(want, now Document) Document {
	then := Merge(now, want)
	out := Transition(then, now)
	for n, i := range out.Interfaces {
		was, _ := findCarrier(then, i.Name)
		out.Interfaces[n].IPv4, out.Interfaces[n].IPv6 = i.IPv4.withoutLeases(was.IPv4), i.IPv6.withoutLeases(was.IPv6)
	}
	return out
}

// withoutLeases leaves addresses out that come back by themselves. An automatic family says that it has no fixed ones where the state
// that it follows has.
func (ip *IP) withoutLeases(after *IP) *IP {
	if ip == nil {
		return nil
	}
	out := *ip
	if !out.Auto() {
		if !out.On() {
			out.Addresses = nil
		}
		return &out
	}
	out.Addresses = nil
	if slices.ContainsFunc(ip.Addresses, Address.fromNetwork) { // a text may not say which are leased
		out.Addresses = fixedOf(ip)
	}
	switch stays := after.Auto() && len(fixedOf(after)) > 0; {
	case stays && out.Addresses == nil:
		out.Addresses = []Address{}
	case !stays && len(out.Addresses) == 0:
		out.Addresses = nil
	}
	return &out
}

// fixedOf are the addresses of a family that the network does not give.
func fixedOf(ip *IP) []Address {
	return slices.DeleteFunc(append([]Address{}, ip.Addresses...), Address.fromNetwork)
}

// diffDocuments compares two whole documents in canonical form. asked gives the interfaces that are allowed to be missing
// from after without being told so: those that it orders away in its own words.
func diffDocuments(before, after, asked Document) Document {
	var out Document
	out.Interfaces = changedInterfaces(before, after, asked)
	if routes := changedRoutes(before.configRoutes(), after.configRoutes()); len(routes) > 0 {
		out.Routes = &Routes{Config: routes}
	}
	if rules := changedRules(before.configRules(), after.configRules()); len(rules) > 0 {
		out.RouteRules = &RouteRules{Config: rules}
	}
	if r := changedResolver(before.DNS, after.DNS); r != nil {
		out.DNS = &DNS{Config: r}
	}
	out.Hostname = changedHostname(before.Hostname, after.Hostname)
	out.OVN = changedMappings(before.OVN, after.OVN)
	out.OVSDB = changedColumns(before.OVSDB, after.OVSDB)
	return out
}

func changedInterfaces(before, after, asked Document) []Interface {
	var out []Interface
	left := map[string]Interface{}
	for _, i := range after.Interfaces {
		left[nameKey(i)] = i
	}
	had := map[string]Interface{}
	for _, i := range before.Interfaces {
		had[nameKey(i)] = i
		if _, stays := left[nameKey(i)]; !stays {
			state := StateAbsent
			if w, ok := asked.Find(i.Name, ""); ok && w.State == StateDown {
				state = StateDown
			}
			out = append(out, Interface{Name: i.Name, Type: i.Type, State: state})
		}
	}
	for _, i := range after.Interfaces {
		have, exists := had[nameKey(i)]
		if !exists {
			i.Controller = nil // the controller's list of ports says it
			out = append(out, i)
			continue
		}
		if c, differs := changedInterface(have, i); differs {
			out = append(out, c)
		}
	}
	return out
}

// changedInterface is what to say to make have into want.
func changedInterface(have, want Interface) (Interface, bool) {
	have.Controller, want.Controller = nil, nil
	want = want.withFiltersOf(have)
	c := tree.Changed(want, have)
	// A family is told as a whole: what it does not mention would be taken from what is there.
	c.IPv4, c.IPv6 = changedIP(have.IPv4, want.IPv4), changedIP(have.IPv6, want.IPv6)
	c.Dot1X = changedDot1X(have.Dot1X, want.Dot1X)
	if have.MPTCP != nil && want.MPTCP == nil {
		c.MPTCP = &MPTCP{AddressFlags: []string{keys.MPTCPUnset}}
	}
	c.Bond = c.Bond.clearLostPrimary(have.Bond, want.Bond)
	if have.Description != nil && want.Description == nil {
		c.Description = new("")
	}
	if have.ProfileName != "" && want.ProfileName == "" {
		c.ProfileName = want.Name
	}
	if reflect.DeepEqual(c, Interface{}) {
		return c, false
	}
	c.Name, c.Type, c.State = want.Name, want.Type, want.State
	if b := c.Bond; b != nil && b.Mode == "" {
		b.Mode = want.Bond.Mode
	} else if b != nil {
		b.Options = want.Bond.Options // another mode starts without any
	}
	return c, true
}

func changedIP(have, want *IP) *IP {
	if want == nil || reflect.DeepEqual(plainIP(have), plainIP(want)) {
		return nil
	}
	out := *want
	if out.On() && !out.Auto() && out.Addresses == nil {
		out.Addresses = []Address{}
	}
	if out.On() && out.DHCP == nil && have.Auto() {
		out.DHCP = new(false)
	}
	if out.On() && have.On() {
		out.clearLost(*have)
	}
	return &out
}

// clearLost takes away what a family had and no longer has, of the keys that are not shown where they are unset.
func (ip *IP) clearLost(had IP) {
	if had.AutoRouteMetric != nil && ip.AutoRouteMetric == nil {
		ip.AutoRouteMetric = new(keys.MetricUnset)
	}
	if had.AddrGenMode != "" && ip.AddrGenMode == "" {
		ip.AddrGenMode = keys.AddrGenModeUnset
	}
	if had.DHCPClientID != nil && ip.DHCPClientID == nil {
		ip.DHCPClientID = new("")
	}
	if had.DHCPDUID != nil && ip.DHCPDUID == nil {
		ip.DHCPDUID = new("")
	}
}

// plainIP is a family for comparison: no list is an empty list, and what is silent about a switch has it off.
func plainIP(ip *IP) IP {
	if ip == nil {
		return IP{}
	}
	out := *ip
	out.AllowExtraAddress = nil // it says how to judge, and no state has it
	out.Addresses = append([]Address{}, ip.Addresses...)
	for n := range out.Addresses {
		out.Addresses[n].ValidLifetime, out.Addresses[n].PreferredLifetime, out.Addresses[n].Leased = "", "", false
	}
	if !ip.On() {
		return IP{Enabled: ip.Enabled}
	}
	for _, b := range []**bool{&out.DHCP, &out.Autoconf} {
		*b = new(isTrue(*b))
	}
	return out
}

func changedRoutes(before, after []Route) []Route {
	same := func(a, b Route) bool { a.State, b.State = "", ""; return a == b }
	var out []Route
	for _, b := range before {
		if !slices.ContainsFunc(after, func(a Route) bool { return same(a, b) }) {
			// An order to remove does not look at the properties.
			b.State, b.Metric, b.Source, b.CWND, b.Weight = StateAbsent, 0, "", 0, 0
			if b.NextHopAddress == "" && !b.dropsPackets() {
				b.NextHopAddress = unspecifiedHop(b)
			}
			out = append(out, b)
		}
	}
	for _, a := range after {
		fresh := !slices.ContainsFunc(before, func(b Route) bool { return same(a, b) })
		if fresh || removedBy(a, out) {
			out = append(out, a)
		}
	}
	return out
}

// WithHops writes the address that stands for no next hop into the routes that have none, as nmstate shows them.
func (d Document) WithHops() Document {
	if d.Routes == nil {
		return d
	}
	fill := func(all []Route) []Route {
		out := slices.Clone(all)
		for n, r := range out {
			if r.NextHopAddress == "" && r.NextHopInterface != "" && !r.dropsPackets() {
				out[n].NextHopAddress = unspecifiedHop(r)
			}
		}
		return out
	}
	d.Routes = &Routes{Running: fill(d.Routes.Running), Config: fill(d.Routes.Config)}
	return d
}

// unspecifiedHop says "without a next hop" in the route's family; an order that leaves it out means any.
func unspecifiedHop(r Route) string {
	if f, ok := r.Family(); ok && f == IPv6 {
		return "::"
	}
	return "0.0.0.0"
}

func changedRules(before, after []RouteRule) []RouteRule {
	var out []RouteRule
	for _, b := range before {
		if !anyRule(after, func(a RouteRule) bool { return SameRule(a, b) }) {
			b.State = StateAbsent
			for _, s := range []**string{&b.IPFrom, &b.IPTo} {
				if *s == nil {
					*s = new("")
				}
			}
			out = append(out, b)
		}
	}
	for _, a := range after {
		fresh := !anyRule(before, func(b RouteRule) bool { return SameRule(a, b) })
		if fresh || anyRule(out, func(o RouteRule) bool { return o.Removes() && o.Matches(a) }) {
			out = append(out, a)
		}
	}
	return out
}

func changedResolver(before, after *DNS) *Resolver {
	var have, want Resolver
	if before != nil && before.Config != nil {
		have = *before.Config
	}
	if after != nil && after.Config != nil {
		want = *after.Config
	}
	var out Resolver
	lists := []struct{ have, want, out *[]string }{
		{&have.Server, &want.Server, &out.Server}, {&have.Search, &want.Search, &out.Search}, {&have.Options, &want.Options, &out.Options},
	}
	differs, empty := false, true
	for _, l := range lists {
		if !slices.Equal(*l.have, *l.want) {
			*l.out, differs = append([]string{}, *l.want...), true
		}
		empty = empty && len(*l.want) == 0
	}
	switch {
	case !differs:
		return nil
	case empty:
		return &Resolver{}
	case out.Clears(): // an empty list alone would take the others away, too
		return &Resolver{Server: append([]string{}, want.Server...), Search: append([]string{}, want.Search...),
			Options: append([]string{}, want.Options...)}
	default:
		return &out
	}
}

// Combine joins two ways back, key by key: what both mention is as the earlier one says, for that is how it was first.
func Combine(earlier, later Document) Document {
	out := earlier
	out.Interfaces = slices.Clone(earlier.Interfaces)
	for _, l := range later.Interfaces {
		n := slices.IndexFunc(out.Interfaces, func(o Interface) bool { return o.Name == l.Name && o.Type == l.Type })
		switch {
		case n < 0:
			out.Interfaces = append(out.Interfaces, l)
		case out.Interfaces[n].State != StateAbsent && l.State != StateAbsent:
			out.Interfaces[n] = combineInterfaces(out.Interfaces[n], l)
		}
	}
	out.Routes = combineRoutes(earlier.Routes, later.Routes)
	out.RouteRules = combineRules(earlier.RouteRules, later.RouteRules)
	if out.DNS == nil {
		out.DNS = later.DNS
	}
	out.Hostname = tree.Overlay(later.Hostname, earlier.Hostname)
	out.OVN = combineMappings(earlier.OVN, later.OVN)
	out.OVSDB = combineColumns(earlier.OVSDB, later.OVSDB)
	return out
}

// combineInterfaces takes a family as a whole, as a way back tells it.
func combineInterfaces(earlier, later Interface) Interface {
	out := tree.Overlay(later, earlier)
	if earlier.IPv4 != nil {
		out.IPv4 = earlier.IPv4
	}
	if earlier.IPv6 != nil {
		out.IPv6 = earlier.IPv6
	}
	return out
}

func combineRoutes(earlier, later *Routes) *Routes {
	if earlier == nil || later == nil {
		return tree.Overlay(later, earlier)
	}
	out := &Routes{Config: slices.Clone(earlier.Config)}
	for _, r := range later.Config {
		if !anySame(out.Config, r) {
			out.Config = append(out.Config, r)
		}
	}
	return out
}

func combineRules(earlier, later *RouteRules) *RouteRules {
	if earlier == nil || later == nil {
		return tree.Overlay(later, earlier)
	}
	out := &RouteRules{Config: slices.Clone(earlier.Config)}
	for _, r := range later.Config {
		if !anyRule(out.Config, func(o RouteRule) bool { return SameRule(o, r) }) {
			out.Config = append(out.Config, r)
		}
	}
	return out
}
