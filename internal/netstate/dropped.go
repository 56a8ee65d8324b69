package netstate

import (
	"reflect"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// Dropped is the part of a way back that concerns what a document last said and next does not say any more, key by key: applied with
// next, it restores what the document has dropped. back is the way back to before the document, as Revert makes it.
//
// A way back cannot say of a setting that it had no value: such a key stays as the document made it.
func Dropped(back, last, next Document) Document {
	var out Document
	for _, b := range back.Interfaces {
		if i, has := droppedInterface(b, last, next); has {
			out.Interfaces = append(out.Interfaces, i)
		}
	}
	if all := droppedRoutes(back.configRoutes(), last.configRoutes(), next.configRoutes()); len(all) > 0 {
		out.Routes = &Routes{Config: all}
	}
	if all := droppedRules(back.configRules(), last.configRules(), next.configRules()); len(all) > 0 {
		out.RouteRules = &RouteRules{Config: all}
	}
	out.DNS = droppedResolver(back.DNS, last.DNS, next.DNS)
	out.Hostname = tree.Dropped(back.Hostname, last.Hostname, next.Hostname)
	out.OVN = droppedMappings(back.OVN, last.OVN, next.OVN)
	out.OVSDB = tree.Dropped(back.OVSDB, last.OVSDB.SpelledOut(back.OVSDB), next.OVSDB.SpelledOut(back.OVSDB))
	return out
}

// findEntry finds the entry of an interface; one without a type means whichever it is.
func (d Document) findEntry(i Interface) (Interface, bool) {
	if e, ok := d.Find(i.Name, i.Type); ok {
		return e, true
	}
	e, ok := d.Find(i.Name, "")
	return e, ok && (e.Type == "" || i.Type == "")
}

func droppedInterface(back Interface, last, next Document) (Interface, bool) {
	l, said := last.findEntry(back)
	n, says := next.findEntry(back)
	switch {
	case !said && !says: // changed because a controller took it
		return back, isPortIn(last, back.Name) && !isPortIn(next, back.Name)
	case !said:
		return Interface{}, false
	case !says:
		return back, !isPortIn(next, back.Name)
	case n.State == StateAbsent || n.State == StateDown || n.State == StateIgnore:
		return Interface{}, false
	case back.State == StateAbsent:
		return droppedFamilies(l, n)
	}
	return droppedKeys(back, l, n)
}

// droppedKeys is for an interface that the document still has.
func droppedKeys(back, last, next Interface) (Interface, bool) {
	out := tree.Dropped(back, last, next)
	out.Name, out.Type, out.State, out.Identifier, out.Controller = "", "", "", "", nil
	for _, f := range []struct {
		out  **IP
		next *IP
	}{{&out.IPv4, next.IPv4}, {&out.IPv6, next.IPv6}} {
		if *f.out == nil || f.next == nil || !f.next.Auto() && !f.next.Off() {
			continue
		}
		part := **f.out
		part.Addresses = nil // the addresses of now come by themselves
		if *f.out = &part; reflect.ValueOf(part).IsZero() {
			*f.out = nil
		}
	}
	if reflect.ValueOf(out).IsZero() {
		return out, false
	}
	out.Name, out.Type = back.Name, back.Type
	return out, true
}

// droppedFamilies is for an interface that the document has made: a family that it dropped is switched off.
func droppedFamilies(last, next Interface) (Interface, bool) {
	out := Interface{Name: next.Name, Type: next.Type}
	if last.IPv4.On() && next.IPv4 == nil {
		out.IPv4 = Disabled()
	}
	if last.IPv6.On() && next.IPv6 == nil {
		out.IPv6 = Disabled()
	}
	return out, out.IPv4 != nil || out.IPv6 != nil
}

// isPortIn says that a document has the interface as a port.
func isPortIn(d Document, name string) bool {
	return slices.ContainsFunc(d.Interfaces, func(i Interface) bool {
		return i.State != StateAbsent && slices.Contains(i.Ports(), name)
	})
}

func droppedRoutes(back, last, next []Route) (out []Route) {
	concerns := func(all []Route, r Route) bool {
		return slices.ContainsFunc(all, func(o Route) bool {
			if o.Removes() {
				return !r.Removes() && o.Matches(r)
			}
			return SameRoute(o, r)
		})
	}
	for _, r := range back {
		if concerns(last, r) && !concerns(next, r) {
			out = append(out, r)
		}
	}
	return out
}

func droppedRules(back, last, next []RouteRule) (out []RouteRule) {
	concerns := func(all []RouteRule, r RouteRule) bool {
		return anyRule(all, func(o RouteRule) bool {
			if o.Removes() {
				return !r.Removes() && o.Matches(r)
			}
			a, b := o, r
			a.State, b.State = "", ""
			return SameRule(a, b)
		})
	}
	for _, r := range back {
		if concerns(last, r) && !concerns(next, r) {
			out = append(out, r)
		}
	}
	return out
}

func droppedResolver(back, last, next *DNS) *DNS {
	if back == nil || back.Config == nil || last == nil || last.Config == nil {
		return nil
	}
	if next == nil || next.Config == nil {
		return &DNS{Config: back.Config}
	}
	out := tree.Dropped(*back.Config, *last.Config, *next.Config)
	if back.Config.Clears() { // there was no resolver before the document
		for _, list := range []struct{ out, last, next *[]string }{
			{&out.Server, &last.Config.Server, &next.Config.Server},
			{&out.Search, &last.Config.Search, &next.Config.Search},
			{&out.Options, &last.Config.Options, &next.Config.Options},
		} {
			if *list.last != nil && *list.next == nil {
				*list.out = []string{}
			}
		}
	}
	if out.Server == nil && out.Search == nil && out.Options == nil {
		return nil
	}
	return &DNS{Config: &out}
}

// With is a document with what it has dropped; what both mention is as the document says.
func With(d, dropped Document) Document {
	d.Interfaces = slices.Clone(d.Interfaces)
	for _, i := range dropped.Interfaces {
		n := slices.IndexFunc(d.Interfaces, func(o Interface) bool {
			return o.Name == i.Name && (o.Type == i.Type || o.Type == "" || i.Type == "")
		})
		if n < 0 {
			d.Interfaces = append(d.Interfaces, i)
		} else {
			d.Interfaces[n] = tree.Overlay(i, d.Interfaces[n])
		}
	}
	if all := dropped.configRoutes(); len(all) > 0 {
		d.Routes = &Routes{Config: append(slices.Clone(d.configRoutes()), all...)}
	}
	if all := dropped.configRules(); len(all) > 0 {
		d.RouteRules = &RouteRules{Config: append(slices.Clone(d.configRules()), all...)}
	}
	d.DNS = tree.Overlay(dropped.DNS, d.DNS)
	d.Hostname = tree.Overlay(dropped.Hostname, d.Hostname)
	d.OVN = combineMappings(d.OVN, dropped.OVN)
	d.OVSDB = combineColumns(d.OVSDB, dropped.OVSDB)
	return d
}

// interfaceWithout is what is left of an entry, if there is something left. An entry that was taken whole says a state.
func interfaceWithout(back, taken Interface) (Interface, bool) {
	if taken.State != "" {
		return back, false
	}
	if back.State == StateAbsent {
		return back, true
	}
	taken.Name, taken.Type = "", ""
	left := tree.Without(back, taken)
	said := left
	said.Name, said.Type, said.State = "", "", ""
	return left, !reflect.ValueOf(said).IsZero()
}

// Without is a way back without the part that was taken already, as Dropped gives it.
func Without(back, taken Document) Document {
	back.Interfaces = slices.Clone(back.Interfaces)
	for _, t := range taken.Interfaces {
		n := slices.IndexFunc(back.Interfaces, func(o Interface) bool { return o.Name == t.Name && o.Type == t.Type })
		if n < 0 {
			continue
		}
		if left, some := interfaceWithout(back.Interfaces[n], t); some {
			back.Interfaces[n] = left
		} else {
			back.Interfaces = slices.Delete(back.Interfaces, n, n+1)
		}
	}
	if back.Routes != nil {
		back.Routes = &Routes{Config: slices.DeleteFunc(slices.Clone(back.Routes.Config), func(r Route) bool {
			return anySame(taken.configRoutes(), r)
		})}
	}
	if back.RouteRules != nil {
		back.RouteRules = &RouteRules{Config: slices.DeleteFunc(slices.Clone(back.RouteRules.Config), func(r RouteRule) bool {
			return anyRule(taken.configRules(), func(o RouteRule) bool { return o.State == r.State && SameRule(o, r) })
		})}
	}
	back.DNS = tree.Without(back.DNS, taken.DNS)
	back.Hostname = tree.Without(back.Hostname, taken.Hostname)
	back.OVN = withoutMappings(back.OVN, taken.OVN)
	back.OVSDB = tree.Without(back.OVSDB, taken.OVSDB)
	return back
}
