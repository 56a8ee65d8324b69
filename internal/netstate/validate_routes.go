package netstate

import (
	"net/netip"
	"slices"
	"strings"
)

// localTable is RT_TABLE_LOCAL of linux/rtnetlink.h.
const localTable = 255

func (v *validator) checkRoute(d Document, r Route) {
	if !slices.Contains([]string{"", StateAbsent}, r.State) {
		v.addProblem("state %q is neither empty nor absent", r.State)
	}
	p, err := ParseDestination(r.Destination)
	switch {
	case r.Destination == "" && !r.Removes():
		v.addProblem("the route has no destination")
	case r.Destination == "":
	case err != nil:
		v.addProblem("%v", err)
	case p.Addr().IsMulticast():
		v.addProblem("multicast cannot be routed this way")
	case p.Addr().Is4() && p.Addr().As4()[0] == 0 && p.Bits() > 0 && r.RouteType == "":
		v.addProblem("destination %s is in 0.0.0.0/8, which means this network and cannot be routed; 0.0.0.0/0 is the default route", p)
	}
	v.checkWord("route-type", r.RouteType, "blackhole", "unreachable", "prohibit")
	if r.NextHopInterface == "" && !r.Removes() && r.RouteType == "" {
		v.addProblem("next-hop-interface is missing")
	}
	if r.RouteType != "" && !r.Removes() && (r.NextHopAddress != "" || r.NextHopInterface != "" && r.NextHopInterface != "lo") {
		v.addProblem("a %s route leads nowhere and has no next hop", r.RouteType)
	}
	if r.RouteType != "" && r.Weight > 0 {
		v.addProblem("a %s route has no weight: it is no path among several", r.RouteType)
	}
	if r.Metric < 0 || r.TableID < 0 || r.CWND < 0 {
		v.addProblem("metric, table-id and cwnd cannot be negative")
	}
	if r.TableID == localTable && !r.Removes() {
		v.addProblem("table-id %d is the kernel's own table of local addresses; leave it out, or give another table", r.TableID)
	}
	if r.Weight < 0 || r.Weight > 256 {
		v.addProblem("weight %d is outside 1-256", r.Weight)
	} else if r.Weight > 0 && p.Addr().Is6() {
		v.addProblem("weight has an effect for IPv4 only")
	}
	if r.VRFName != "" {
		v.addProblem("vrf-name is part of nmstate, and this product does not support it; give the table of the VRF as table-id")
	}
	v.checkSource(r, p)
	v.checkNextHop(d, r)
}

func (v *validator) checkWord(key, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		v.addProblem("%s %q is none of %s", key, value, strings.Join(allowed, ", "))
	}
}

func (v *validator) checkSource(r Route, p netip.Prefix) {
	if r.Source == "" {
		return
	}
	a, err := netip.ParseAddr(r.Source)
	switch {
	case err != nil:
		v.addProblem("source %q is not an IP address", r.Source)
	case p.IsValid() && a.Is4() != p.Addr().Is4():
		v.addProblem("source %s is of the other IP family", a)
	}
}

func (v *validator) checkNextHop(d Document, r Route) {
	f, known := r.Family()
	if r.NextHopAddress != "" {
		a, err := netip.ParseAddr(r.NextHopAddress)
		switch {
		case err != nil:
			v.addProblem("next hop %q is not an IP address", r.NextHopAddress)
			return
		case a.IsUnspecified():
		case known && FamilyOf(a) != f:
			v.addProblem("next hop %s is of the other IP family", a)
		case a.IsMulticast() || a.IsLoopback():
			v.addProblem("%s cannot be a next hop", a)
		}
	}
	i, ok := findCarrier(d, r.NextHopInterface)
	if r.Removes() || !ok {
		return
	}
	if i.State == StateAbsent || i.State == StateDown || i.State == StateIgnore {
		v.addProblem("the route's interface %q is to be %s", i.Name, i.State)
	}
	if ip := f.Of(i); known && ip.Off() {
		v.addProblem("%s is disabled on its interface %q", f, i.Name)
	}
	// Of IPv4 the kernel takes it, for a destination that is on the link; a default route would lead nowhere.
	if p, err := ParseDestination(r.Destination); ownAddress(i, r.NextHopAddress) && (err != nil || f == IPv6 || p.Bits() == 0) {
		v.addProblem("next hop %s is an address of %q itself", r.NextHopAddress, i.Name)
	}
}

// findCarrier finds the interface that carries addresses under the name.
func findCarrier(d Document, name string) (Interface, bool) {
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

func (v *validator) checkRule(r RouteRule) {
	if !slices.Contains([]string{"", StateAbsent}, r.State) {
		v.addProblem("state %q is neither empty nor absent", r.State)
	}
	v.checkWord("family", r.Family, "ipv4", "ipv6")
	v.checkWord("action", r.Action, "blackhole", "unreachable", "prohibit")
	families := map[Family]bool{}
	if r.Family == "ipv4" || r.Family == "ipv6" {
		families[map[string]Family{"ipv4": IPv4, "ipv6": IPv6}[r.Family]] = true
	}
	for _, side := range []struct {
		key   string
		value *string
	}{{"ip-from", r.IPFrom}, {"ip-to", r.IPTo}} {
		if textOf(side.value) == "" {
			continue
		}
		p, err := ParseDestination(*side.value)
		if err != nil {
			v.addProblem("%s %q is not a network such as 192.0.2.0/24", side.key, *side.value)
			continue
		}
		families[FamilyOf(p.Addr())] = true
	}
	switch {
	case len(families) > 1:
		v.addProblem("family, ip-from and ip-to are of different IP families")
	case len(families) == 0 && !r.Removes():
		v.addProblem("one of ip-from, ip-to and family is needed")
	}
	if r.Priority < 0 || r.RouteTable < 0 || r.SuppressPfx != nil && *r.SuppressPfx < 0 {
		v.addProblem("priority, route-table and suppress-prefix-length cannot be negative")
	}
	if r.FwMask != nil && r.FwMark == nil && !r.Removes() {
		v.addProblem("fwmask needs fwmark")
	}
	if r.LoopbackOnly != nil {
		v.addProblem("loopback is part of nmstate, and this product does not support it")
	}
}

func (v *validator) checkResolver(r *Resolver) {
	if r == nil {
		return
	}
	v.at = "dns-resolver.config.server"
	var seen []netip.Addr
	for _, s := range r.Server {
		a, err := netip.ParseAddr(s)
		switch {
		case err != nil:
			v.addProblem("DNS server %q is not an IP address", s)
		case a.IsUnspecified() || a.IsMulticast():
			v.addProblem("%s cannot be a DNS server", s)
		case a.IsLinkLocalUnicast() && a.Is6() && a.Zone() == "":
			v.addProblem("DNS server %s is link-local and needs its interface, as in %s%%eno1", s, s)
		case slices.Contains(seen, a):
			v.addProblem("DNS server %s appears twice", s)
		default:
			seen = append(seen, a)
		}
	}
	v.at = "dns-resolver.config.search"
	for _, s := range r.Search {
		if s == "" || strings.ContainsAny(s, " \t\n,;") {
			v.addProblem("DNS search domain %q is not a domain name", s)
		}
	}
	v.at = "dns-resolver.config.options"
	for _, s := range r.Options {
		name, value, hasValue := strings.Cut(s, ":")
		if want, known := resolverOptions[name]; !known || want != hasValue || want && !isShortNumber(value) {
			v.addProblem("%q is not an option of resolv.conf; those are %s", s, resolverOptionNames)
		}
	}
}

// resolverOptions are those of resolv.conf(5), and whether they take a number after a colon.
var resolverOptions = map[string]bool{
	"attempts": true, "debug": false, "edns0": false, "inet6": false, "ip6-bytestring": false, "ip6-dotint": false, "ndots": true,
	"no-aaaa": false, "no-check-names": false, "no-ip6-dotint": false, "no-reload": false, "no-tld-query": false, "rotate": false,
	"single-request": false, "single-request-reopen": false, "timeout": true, "trust-ad": false, "use-vc": false,
}

const resolverOptionNames = "attempts:N, ndots:N, timeout:N, edns0, rotate, trust-ad, use-vc and the others of resolv.conf(5)"

func isShortNumber(s string) bool {
	return s != "" && len(s) <= 5 && strings.Trim(s, "0123456789") == ""
}

func (v *validator) checkHostname(key string, name *string) {
	v.at = key
	if h := textOf(name); len(h) > 64 || strings.ContainsAny(h, " \t\n/\x00") || strings.HasPrefix(h, "-") {
		v.addProblem("%q is not a host name of at most 64 characters", h)
	}
}

// checkColumns checks the node's own row of the Open vSwitch database.
func (v *validator) checkColumns(path string, o *OVSDB) {
	if o == nil {
		return
	}
	if _, has := o.ExternalIDs[MappingsKey]; has {
		v.at = path + ".external_ids." + MappingsKey
		v.addProblem("is told by ovn.bridge-mappings")
	}
	for key, columns := range map[string]map[string]*string{"external_ids": o.ExternalIDs, "other_config": o.OtherConfig} {
		if _, has := columns[""]; has {
			v.at = path + "." + key
			v.addProblem("a key is empty")
		}
	}
}

// checkNodeWide checks what is the node's as a whole.
func (v *validator) checkNodeWide(d Document) {
	if d.Hostname != nil {
		v.checkHostname("hostname.config", d.Hostname.Config)
		v.checkHostname("hostname.running", d.Hostname.Running)
		if h := d.Hostname.Running; h != nil && *h == "" {
			v.addProblem("a node has a name; hostname.config: '' removes the stored one")
		}
	}
	v.checkColumns("ovs-db", d.OVSDB)
	if d.OVN == nil {
		return
	}
	seen := map[string]bool{}
	for _, b := range d.OVN.BridgeMappings {
		v.at = "ovn.bridge-mappings[" + b.Localnet + "]"
		switch {
		case b.Localnet == "" || strings.ContainsAny(b.Localnet, ",:"):
			v.addProblem("localnet is missing or holds a comma or a colon")
		case b.Bridge == "" && b.State != StateAbsent:
			v.addProblem("bridge is missing")
		case strings.ContainsAny(b.Bridge, ",:"):
			v.addProblem("bridge %q holds a comma or a colon", b.Bridge)
		case seen[b.Localnet]:
			v.addProblem("the localnet is there already")
		}
		seen[b.Localnet] = true
		v.checkWord("state", b.State, "present", StateAbsent)
	}
}
