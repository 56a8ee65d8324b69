package netstate

import (
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

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
