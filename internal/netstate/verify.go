package netstate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Verify compares a desired document with an observed one and says in words what is
// not in place; nothing means that all of it is. What the desired document does
// not mention is not compared, and addresses beyond the desired ones are allowed:
// other programs (OVN-Kubernetes, keepalived) add their own.
func Verify(want, got Document) []string {
	c := &comparison{got: got}
	for _, i := range want.Interfaces {
		c.iface(i)
	}
	if want.Routes != nil {
		c.routes(want)
	}
	if want.DNS != nil && want.DNS.Config != nil {
		c.resolver(*want.DNS.Config)
	}
	return c.differences
}

type comparison struct {
	got         Document
	differences []string
}

func (c *comparison) add(format string, args ...any) {
	c.differences = append(c.differences, fmt.Sprintf(format, args...))
}

func (c *comparison) iface(want Interface) {
	got, ok := find(c.got, want)
	if want.State == StateAbsent || want.State == StateDown {
		if ok {
			c.takenDown(want, got)
		}
		return
	}
	if !ok {
		c.add("interface %s does not exist", want.Name)
		return
	}
	if got.State == StateDown {
		c.add("interface %s is down", want.Name)
	}
	if want.MTU != 0 && want.MTU != got.MTU {
		c.add("interface %s has MTU %d, not %d", want.Name, got.MTU, want.MTU)
	}
	if want.MACAddress != "" && !strings.EqualFold(want.MACAddress, got.MACAddress) {
		c.add("interface %s has MAC address %s, not %s", want.Name, got.MACAddress, want.MACAddress)
	}
	c.vlan(want, got)
	c.ports(want, got)
	c.ip(IPv4, want, got)
	c.ip(IPv6, want, got)
}

// takenDown judges what is to be down or absent: a virtual interface must not be up, a card
// only has to carry no addresses, for its link may stay up with nobody using it.
func (c *comparison) takenDown(want, got Interface) {
	if got.Type != TypeEthernet {
		if got.State == StateUp {
			c.add("interface %s is up, not %s", want.Name, want.State)
		}
		return
	}
	for _, f := range []Family{IPv4, IPv6} {
		if all, _ := f.Of(got).Prefixes(); len(all) > 0 {
			c.add("interface %s is to be %s and still has address %s", want.Name, want.State, all[0])
		}
	}
}

// find prefers the type; a document may leave it out, and the carrier of
// addresses is meant where two interfaces share a name.
func find(in Document, want Interface) (Interface, bool) {
	if want.Type != "" {
		return in.Find(want.Name, want.Type)
	}
	if i, ok := carrier(in, want.Name); ok {
		return i, true
	}
	return in.Find(want.Name, "")
}

func (c *comparison) vlan(want, got Interface) {
	if want.VLAN == nil {
		return
	}
	if got.VLAN == nil {
		c.add("interface %s is no VLAN", want.Name)
		return
	}
	if want.VLAN.ID != got.VLAN.ID {
		c.add("interface %s has VLAN id %d, not %d", want.Name, got.VLAN.ID, want.VLAN.ID)
	}
	if want.VLAN.BaseIface != "" && want.VLAN.BaseIface != got.VLAN.BaseIface {
		c.add("VLAN %s is on %s, not on %s", want.Name, got.VLAN.BaseIface, want.VLAN.BaseIface)
	}
}

func (c *comparison) ports(want, got Interface) {
	if want.Bridge == nil {
		return
	}
	for _, p := range want.Bridge.Ports {
		if got.Bridge == nil || !slices.Contains(got.Bridge.Ports, p) {
			c.add("bridge %s has no port %s", want.Name, p.Name)
		}
	}
}

func (c *comparison) ip(f Family, want, got Interface) {
	ip, have := f.Of(want), f.Of(got)
	if ip == nil {
		return
	}
	addrs, err := have.Prefixes()
	if err != nil {
		c.add("interface %s: %v", want.Name, err)
	}
	if ip.Off() {
		if len(addrs) > 0 {
			c.add("interface %s still has %s address %s", want.Name, f, addrs[0])
		}
		return
	}
	if ip.DHCP != nil && have != nil && have.DHCP != nil && *ip.DHCP != *have.DHCP {
		c.add("interface %s has %s DHCP %s, not %s", want.Name, f, onOff(*have.DHCP), onOff(*ip.DHCP))
	}
	if ip.Autoconf != nil && have != nil && have.Autoconf != nil && *ip.Autoconf != *have.Autoconf {
		c.add("interface %s has %s autoconf %s, not %s", want.Name, f, onOff(*have.Autoconf), onOff(*ip.Autoconf))
	}
	wanted, err := ip.Prefixes()
	if err != nil {
		c.add("interface %s: %v", want.Name, err)
	}
	for _, p := range wanted {
		if !slices.Contains(addrs, p) {
			c.add("interface %s lacks address %s", want.Name, p)
		}
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (c *comparison) routes(want Document) {
	var have []Route
	if c.got.Routes != nil {
		have = append(slices.Clone(c.got.Routes.Running), c.got.Routes.Config...)
	}
	for _, w := range want.Routes.Config {
		if w.Removes() {
			c.removed(w, have, want.Routes.Config)
			continue
		}
		i := slices.IndexFunc(have, func(h Route) bool { return SameRoute(w, h) && (w.Metric == 0 || w.Metric == h.Metric) })
		if i < 0 {
			c.add("route %s is missing", w)
		}
	}
}

func (c *comparison) removed(order Route, have, config []Route) {
	for _, h := range have {
		if order.Matches(h) && !replacedBy(h, config) {
			c.add("route %s is still there", h)
			return
		}
	}
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

func (c *comparison) resolver(want Resolver) {
	var have Resolver
	if c.got.DNS != nil && c.got.DNS.Running != nil {
		have = *c.got.DNS.Running
	}
	servers := have.Server
	if n := len(want.Server); n < len(servers) && anyAuto(c.got) {
		servers = servers[:n] // the network adds its own after the configured ones
	}
	if want.Server != nil && !SameServers(want.Server, servers) {
		c.add("DNS servers are [%s], not [%s]", strings.Join(have.Server, " "), strings.Join(want.Server, " "))
	}
	if want.Search != nil && !slices.Equal(want.Search, have.Search) {
		c.add("DNS search domains are [%s], not [%s]", strings.Join(have.Search, " "), strings.Join(want.Search, " "))
	}
}

func anyAuto(d Document) bool {
	return slices.ContainsFunc(d.Interfaces, func(i Interface) bool { return i.IPv4.Auto() || i.IPv6.Auto() })
}

// SameServers says that two lists name the same servers in the same order.
func SameServers(a, b []string) bool {
	return slices.EqualFunc(a, b, func(x, y string) bool {
		ax, errX := netip.ParseAddr(x)
		ay, errY := netip.ParseAddr(y)
		return errX == nil && errY == nil && ax == ay
	})
}
