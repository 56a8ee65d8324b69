package netstate

import "slices"

// Revert is the document that undoes what applying want would do to now: interfaces
// that exist keep their addresses, new ones go, routes and resolver return. Only
// what want mentions is in it.
func Revert(want, now Document) Document {
	var out Document
	for _, w := range want.Interfaces {
		have, ok := find(now, w)
		if !ok {
			if w.State != StateAbsent {
				out.Interfaces = append(out.Interfaces, Interface{Name: w.Name, Type: w.Type, State: StateAbsent})
			}
			continue
		}
		out.Interfaces = append(out.Interfaces, restored(have))
	}
	if routes := revertRoutes(want, now); len(routes) > 0 {
		out.Routes = &Routes{Config: routes}
	}
	if want.DNS != nil && want.DNS.Config != nil {
		back := &Resolver{Server: []string{}, Search: []string{}}
		if now.DNS != nil && now.DNS.Config != nil {
			back.Server = append(back.Server, now.DNS.Config.Server...)
			back.Search = append(back.Search, now.DNS.Config.Search...)
		}
		out.DNS = &DNS{Config: back}
	}
	return out
}

// restored is what an interface needs said to become what it is. Leased addresses
// come back by themselves.
func restored(i Interface) Interface {
	i.MACAddress = ""
	if i.State != StateUp {
		return Interface{Name: i.Name, Type: i.Type, State: StateDown}
	}
	for _, ip := range []**IP{&i.IPv4, &i.IPv6} {
		if *ip == nil {
			continue
		}
		back := **ip
		if back.Auto() || !back.On() {
			back.Addresses = nil
		}
		*ip = &back
	}
	if i.Type == TypeOVSBridge {
		i.IPv4, i.IPv6 = nil, nil
	}
	return i
}

// revertRoutes removes what the document adds and adds what it removes or what goes
// with the addresses of its interfaces.
func revertRoutes(want, now Document) []Route {
	var have, asked []Route
	if now.Routes != nil {
		have = now.Routes.Config
	}
	if want.Routes != nil {
		asked = want.Routes.Config
	}
	var out []Route
	for _, a := range asked {
		if !a.Removes() && !anySame(have, a) {
			a.State = StateAbsent
			out = append(out, a)
		}
	}
	for _, h := range have {
		named := slices.ContainsFunc(want.Interfaces, func(i Interface) bool { return i.Name == h.NextHopInterface })
		if named || removedBy(h, asked) || replacedBy(h, asked) {
			out = append(out, h)
		}
	}
	return out
}
