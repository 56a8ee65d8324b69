package netstate

import (
	"net/netip"
	"slices"
)

func (v *validator) route(d Document, r Route) {
	if !slices.Contains([]string{"", StateAbsent}, r.State) {
		v.add("route to %q: state %q is neither empty nor absent", r.Destination, r.State)
	}
	name := "route to " + r.Destination
	if r.Destination == "" {
		name = "route"
		if !r.Removes() {
			v.add("a route has no destination")
		}
	} else if p, err := ParseDestination(r.Destination); err != nil {
		v.add("route: %v", err)
	} else if p.Addr().IsMulticast() {
		v.add("%s: multicast cannot be routed this way", name)
	}
	if r.NextHopInterface == "" && !r.Removes() {
		v.add("%s: next-hop-interface is missing", name)
	}
	if r.Metric < 0 || r.TableID < 0 {
		v.add("%s: metric and table-id cannot be negative", name)
	}
	v.nextHop(d, r, name)
}

func (v *validator) nextHop(d Document, r Route, name string) {
	f, known := r.Family()
	if r.NextHopAddress != "" {
		a, err := netip.ParseAddr(r.NextHopAddress)
		switch {
		case err != nil:
			v.add("%s: next hop %q is not an IP address", name, r.NextHopAddress)
			return
		case known && FamilyOf(a) != f:
			v.add("%s: next hop %s is of the other IP family", name, a)
		case a.IsMulticast() || a.IsLoopback():
			v.add("%s: %s cannot be a next hop", name, a)
		}
	}
	i, ok := carrier(d, r.NextHopInterface)
	if r.Removes() || !ok {
		return
	}
	if i.State == StateAbsent || i.State == StateDown {
		v.add("%s: its interface %q is to be %s", name, i.Name, i.State)
	}
	if ip := f.Of(i); known && ip.Off() {
		v.add("%s: %s is disabled on its interface %q", name, f, i.Name)
	}
	if ownAddress(i, r.NextHopAddress) {
		v.add("%s: next hop %s is an address of %q itself", name, r.NextHopAddress, i.Name)
	}
}

// carrier finds the interface that carries addresses under the name.
func carrier(d Document, name string) (Interface, bool) {
	for _, i := range d.Interfaces {
		if i.Name == name && i.Type != TypeOVSBridge {
			return i, true
		}
	}
	return Interface{}, false
}

func ownAddress(i Interface, addr string) bool {
	want, err := netip.ParseAddr(addr)
	if err != nil {
		return false
	}
	for _, f := range []Family{IPv4, IPv6} {
		own, _ := f.Of(i).Prefixes()
		for _, p := range own {
			if p.Addr() == want {
				return true
			}
		}
	}
	return false
}
