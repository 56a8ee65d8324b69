package netstate

import (
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// Merge is what is configured after want was applied to now. What want does not mention stays; lists replace, but
// routes, rules and bridge mappings are added to. The result has no running sections: what runs follows from it.
// Both documents are left as they are.
func Merge(now, want Document) Document {
	m := merging{out: now, index: map[string]int{}, want: want}
	m.out.Interfaces = slices.Clone(now.Interfaces)
	m.rebuildIndex()
	for _, w := range want.Interfaces {
		m.applyInterface(w)
	}
	m.attachPorts()
	m.out.DNS, m.out.Hostname = mergeResolver(now.DNS, want.DNS), mergeHostname(now.Hostname, want.Hostname)
	m.out.OVSDB = tree.Overlay(now.OVSDB, want.OVSDB.SpelledOut(now.OVSDB)).canonical()
	m.out.OVN = mergeMappings(now.OVN, want.OVN)
	m.out.Description = want.Description
	if now.RouteRules != nil || want.RouteRules != nil {
		m.out.RouteRules = &RouteRules{Config: MergeRules(now.configRules(), want.configRules())}
	}
	if now.Routes != nil || want.Routes != nil {
		m.out.Routes = &Routes{Config: m.usableRoutes(MergeRoutes(m.lastingRoutes(now), want.configRoutes()))}
	}
	return m.out
}

type merging struct {
	out, want Document
	// index finds interfaces that carry addresses by name; bridges of Open vSwitch have a name space of their own.
	index map[string]int
	// owner is the new controller of each port that one names.
	attached []attachment
}

// attachment gives a port to a controller, or ("") to none.
type attachment struct{ port, controller string }

func nameKey(i Interface) string {
	if i.Type == TypeOVSBridge {
		return "ovs-bridge/" + i.Name
	}
	return i.Name
}

func (m *merging) rebuildIndex() {
	clear(m.index)
	for n, i := range m.out.Interfaces {
		m.index[nameKey(i)] = n
	}
}

// findInterface is the interface that a document means.
func (m *merging) findInterface(w Interface) (int, bool) {
	if w.Identifier == IdentifierMAC {
		n, ok := findByMAC(m.out.Interfaces, w.MACAddress)
		return n, ok
	}
	if w.MeansSwitch(m.out) {
		w.Type = TypeOVSBridge
	}
	n, ok := m.index[nameKey(w)]
	return n, ok
}

// findByMAC prefers the card whose permanent address it is: bonds and VLANs borrow the address of their base.
func findByMAC(all []Interface, mac string) (int, bool) {
	permanent := func(i Interface) bool { return strings.EqualFold(i.PermanentMACAddress, mac) }
	current := func(i Interface) bool { return strings.EqualFold(i.MACAddress, mac) }
	for _, is := range []func(Interface) bool{permanent, current} {
		if n := slices.IndexFunc(all, is); n >= 0 {
			return n, true
		}
	}
	return 0, false
}

func (m *merging) applyInterface(w Interface) {
	n, exists := m.findInterface(w)
	if w.Identifier == IdentifierMAC && exists {
		w.ProfileName, w.Name, w.MACAddress = w.Name, m.out.Interfaces[n].Name, ""
	}
	m.copyMAC(&w)
	switch {
	case w.State == StateIgnore:
	case w.State == StateAbsent || w.State == StateDown:
		if exists {
			m.takeDown(n, w.State)
		}
	case exists:
		before := m.out.Interfaces[n]
		m.out.Interfaces[n] = MergeInterface(before, w)
		m.recordPortChanges(before, m.out.Interfaces[n], w)
	default:
		i := MergeInterface(Interface{Name: w.Name, Type: w.Type, State: StateUp}, w)
		m.index[nameKey(i)] = len(m.out.Interfaces)
		m.out.Interfaces = append(m.out.Interfaces, i)
		m.recordPortChanges(Interface{}, i, w)
	}
}

// copyMAC names the MAC address that is to be copied, where the interface to copy it from is known.
func (m *merging) copyMAC(w *Interface) {
	n, ok := m.index[w.CopyMACFrom]
	if w.CopyMACFrom == "" || !ok || m.out.Interfaces[n].MACAddress == "" {
		return
	}
	w.MACAddress, w.CopyMACFrom = m.out.Interfaces[n].MACAddress, ""
}

// takeDown removes a virtual interface with all that rests on it; a card stays, without configuration.
func (m *merging) takeDown(n int, state string) {
	gone := m.out.Interfaces[n]
	for _, p := range gone.Ports() {
		m.attached = append(m.attached, attachment{p, ""})
	}
	if gone.Type == TypeLoopback {
		gone.ProfileName, gone.Description = "", nil
		for _, ip := range []**IP{&gone.IPv4, &gone.IPv6} { // the kernel's own addresses stay
			*ip = &IP{Enabled: new(true), Addresses: []Address{}}
		}
		m.out.Interfaces[n] = gone
		return
	}
	if gone.isPhysical() {
		bare := Interface{Name: gone.Name, Type: gone.Type, State: StateDown, MACAddress: gone.MACAddress,
			PermanentMACAddress: gone.PermanentMACAddress, MTU: gone.MTU, MinMTU: gone.MinMTU, MaxMTU: gone.MaxMTU, Driver: gone.Driver}
		bare.IPv4, bare.IPv6 = Disabled(), Disabled()
		m.out.Interfaces[n] = bare
		return
	}
	m.out.Interfaces = slices.Delete(m.out.Interfaces, n, n+1)
	m.rebuildIndex()
	if state == StateDown {
		return
	}
	for _, i := range slices.Clone(m.out.Interfaces) {
		if i.Base() == gone.Name || m.isOtherEnd(i, gone) {
			if k, ok := m.findInterface(i); ok {
				m.takeDown(k, state)
			}
		}
	}
}

// isOtherEnd says that a link goes with the end of a pair, and that the document has no opinion on it.
func (m *merging) isOtherEnd(i, gone Interface) bool {
	_, mentioned := m.want.Find(i.Name, "")
	return !mentioned && gone.Veth != nil && gone.Veth.Peer == i.Name && i.Veth != nil && i.Veth.Peer == gone.Name
}

// isPhysical says that the link exists without configuration.
func (i Interface) isPhysical() bool {
	return i.Type == TypeEthernet || i.Type == "" || i.Type == TypeLoopback || i.Type == TypeUnknown
}

// recordPortChanges notes what the new list of ports gives and takes.
func (m *merging) recordPortChanges(before, after, want Interface) {
	if want.Controller != nil {
		m.attached = append(m.attached, attachment{after.Name, *want.Controller})
	}
	had, has := before.Ports(), after.Ports()
	for _, p := range had {
		if !slices.Contains(has, p) {
			m.attached = append(m.attached, attachment{p, ""})
		}
	}
	for _, p := range has {
		if !slices.Contains(had, p) {
			m.attached = append(m.attached, attachment{p, after.Name})
		}
	}
}

// attachPorts carries out what was noted: a port belongs to the last controller that names it, and to no other.
func (m *merging) attachPorts() {
	for _, a := range m.attached {
		if a.controller == "" {
			continue
		}
		for n, i := range m.out.Interfaces {
			switch named := slices.Contains(i.Ports(), a.port); {
			case named && i.Name != a.controller:
				m.out.Interfaces[n] = i.withoutPort(a.port)
			case !named && i.Name == a.controller && i.canHavePorts():
				m.out.Interfaces[n] = i.withPort(a.port)
			}
		}
	}
	owner := map[string]Interface{}
	for _, i := range m.out.Interfaces {
		for _, p := range i.Ports() {
			owner[p] = i
		}
	}
	changed := map[string]bool{}
	for _, a := range m.attached {
		changed[a.port] = true
	}
	for n, i := range m.out.Interfaces {
		c, owned := owner[i.Name]
		switch {
		case i.Type == TypeOVSBridge || !changed[i.Name]:
		case owned:
			m.out.Interfaces[n] = i.asPortOf(c)
		default:
			m.out.Interfaces[n].Controller = nil
		}
	}
}

// asPortOf is the interface as a port: its addresses go, but for those that route by themselves.
func (i Interface) asPortOf(c Interface) Interface {
	i.Controller = new(c.Name)
	if c.Type == TypeVRF || i.Type == TypeOVSInterface {
		return i
	}
	i.IPv4, i.IPv6 = Disabled(), Disabled()
	return i
}

// lastingRoutes are the configured routes but those of a family that the network gives routes from here on.
func (m *merging) lastingRoutes(now Document) []Route {
	return slices.DeleteFunc(slices.Clone(now.configRoutes()), func(r Route) bool {
		n, ok := m.index[r.NextHopInterface]
		f, known := r.Family()
		if !ok || !known {
			return false
		}
		was, _ := findCarrier(now, r.NextHopInterface)
		ip := f.Of(m.out.Interfaces[n])
		return ip.Auto() && !f.Of(was).Auto() && (ip.AutoRoutes == nil || *ip.AutoRoutes)
	})
}

// usableRoutes drops routes of interfaces that are gone, and of families that are off.
func (m *merging) usableRoutes(routes []Route) []Route {
	return slices.DeleteFunc(slices.Clone(routes), func(r Route) bool {
		if r.NextHopInterface == "" {
			return false
		}
		n, ok := m.index[r.NextHopInterface]
		if !ok {
			return true
		}
		f, known := r.Family()
		return known && f.Of(m.out.Interfaces[n]).Off()
	})
}

// MergeInterface is one interface after want was applied to have.
func MergeInterface(have, want Interface) Interface {
	out := tree.Overlay(have, want)
	out.Name, out.Identifier, out.Controller = have.Name, "", have.Controller
	if out.Type == "" {
		out.Type = have.Type
	}
	if want.Type == TypeEthernet && have.Type == TypeVeth {
		out.Type = TypeVeth
	}
	if want.State == "" {
		out.State = StateUp
	}
	out.IPv4, out.IPv6 = MergeIP(have.IPv4, want.IPv4), MergeIP(have.IPv6, want.IPv6)
	out.OVSDB = tree.Overlay(have.OVSDB, want.OVSDB.SpelledOut(have.OVSDB)).canonical().orNothing()
	out.Dot1X = mergeDot1X(have.Dot1X, want.Dot1X)
	if have.Bond != nil && want.Bond != nil && want.Bond.Mode != "" && want.Bond.canonical().Mode != have.Bond.canonical().Mode {
		out.Bond.Options = want.Bond.Options // those of the other mode need not be valid
	}
	if out.Bond != nil {
		out.Bond = out.Bond.withoutEmptied()
	}
	if have.Bridge != nil && want.Bridge != nil && want.Bridge.Ports != nil {
		b := *out.Bridge
		b.Ports = mergePorts(have.Bridge.Ports, want.Bridge.Ports)
		out.Bridge = &b
	}
	return out
}

// mergePorts keeps what a port that is named again had and the document does not mention.
func mergePorts(have, want []BridgePort) []BridgePort {
	out := make([]BridgePort, 0, len(want))
	for _, w := range want {
		if n := slices.IndexFunc(have, func(h BridgePort) bool { return h.Name == w.Name }); n >= 0 {
			vlan := w.VLAN
			columns := w.Bond
			w = tree.Overlay(have[n], w)
			w.Bond = w.Bond.withColumns(have[n].Bond, columns)
			if vlan != nil {
				w.VLAN = vlan // a filter is one thing: half an old one with half a new one is neither
			}
		}
		out = append(out, w)
	}
	return out
}

// MergeIP is a family's configuration after want was applied to have.
func MergeIP(have, want *IP) *IP {
	if want == nil {
		return have
	}
	out := tree.Overlay(have, want)
	if out == nil {
		return nil
	}
	ip := *out
	if mode := want.ImpliedGenMode(); mode != "" {
		ip.AddrGenMode = mode
	}
	switch {
	case ip.Off():
		return &IP{Enabled: new(false), AddrGenMode: ip.AddrGenMode}
	case ip.Auto():
		for _, b := range []**bool{&ip.AutoDNS, &ip.AutoGateway, &ip.AutoRoutes} {
			if *b == nil {
				*b = new(true)
			}
		}
		if want.Addresses == nil && !have.Auto() {
			ip.Addresses = nil // the network gives the addresses from here on
		}
	default:
		ip.AutoDNS, ip.AutoGateway, ip.AutoRoutes, ip.AutoRouteTableID, ip.AutoRouteMetric = nil, nil, nil, nil, nil
		if want.Addresses == nil && have.Auto() {
			ip.Addresses = stripLifetimes(have.Addresses)
		}
	}
	if want.Addresses != nil {
		ip.Addresses = slices.DeleteFunc(slices.Clone(want.Addresses), Address.Dynamic)
		if !ip.Auto() { // a lease that a capture has found, to be kept as a fixed address
			ip.Addresses = stripLifetimes(want.Addresses)
		}
		if ip.Auto() && have.Auto() {
			ip.Addresses = withLeases(ip.Addresses, have.Addresses)
		}
	}
	return &ip
}

// stripLifetimes turns leased addresses into configured ones: that is what switching DHCP off without naming any means.
func stripLifetimes(in []Address) []Address {
	out := slices.Clone(in)
	for n := range out {
		out[n].ValidLifetime, out[n].PreferredLifetime, out[n].Leased = "", "", false
	}
	return out
}

// withLeases adds what the network gave, which it gives further. What is there keeps its place: the network's come first or last.
func withLeases(fixed, have []Address) []Address {
	out := slices.DeleteFunc(slices.Clone(have), func(h Address) bool {
		return !h.fromNetwork() && !slices.ContainsFunc(fixed, h.isSame)
	})
	for _, f := range fixed {
		if !slices.ContainsFunc(out, f.isSame) {
			out = append(out, f)
		}
	}
	return out
}

// fromNetwork says that an observed address was leased or advertised.
func (a Address) fromNetwork() bool { return a.Dynamic() || a.Leased }

func (a Address) isSame(o Address) bool {
	p, err := a.Prefix()
	q, other := o.Prefix()
	return err == nil && other == nil && p == q
}

// mergeResolver: an empty config takes everything away, otherwise each list that is mentioned replaces.
func mergeResolver(have, want *DNS) *DNS {
	switch {
	case want == nil || want.Config == nil:
		if have == nil {
			return nil
		}
		return &DNS{Config: have.Config}
	case want.Config.Clears():
		return &DNS{Config: &Resolver{}}
	case have == nil || have.Config == nil:
		return &DNS{Config: want.Config}
	default:
		return &DNS{Config: tree.Overlay(have.Config, want.Config)}
	}
}

// Clears says that the resolver is to have no configuration of its own.
func (r *Resolver) Clears() bool {
	return len(r.Server) == 0 && len(r.Search) == 0 && len(r.Options) == 0 && r.Options == nil
}
