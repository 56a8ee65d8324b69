package netstate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// Mismatch is something that a document asks for and that is not so.
type Mismatch struct {
	// Interface is empty for routes, rules and the resolver.
	Interface string `json:"interface,omitempty"`
	// Path of the key in the document.
	Path string `json:"path"`
	Want string `json:"want"`
	Got  string `json:"got"`
	// Sentence says it for a person.
	Sentence string `json:"-"`
	// Settled says that the system follows this key when the interface is activated or not at all: waiting does not help.
	Settled bool `json:"-"`
}

func (m Mismatch) String() string { return m.Sentence }

// Verify is Compare in words; nothing means that all of the document is in place.
func Verify(want, got Document) []string {
	var out []string
	for _, m := range Compare(want, got) {
		out = append(out, m.Sentence)
	}
	return out
}

// Compare holds a desired document against an observed one and says what is not in place. What the desired document
// does not mention is not compared, and addresses beyond the desired ones are allowed, unless the document forbids
// them: other programs (OVN-Kubernetes, keepalived) add their own.
func Compare(want, got Document) []Mismatch {
	c := &comparison{got: got}
	for _, i := range want.Interfaces {
		if i.State != StateIgnore {
			c.compareInterface(i)
		}
	}
	if want.Routes != nil {
		c.compareRoutes(want)
	}
	c.compareRules(want)
	if want.DNS != nil && want.DNS.Config != nil {
		c.compareResolver(*want.DNS.Config)
	}
	c.compareNodeWide(want)
	return c.found
}

type comparison struct {
	got   Document
	found []Mismatch
}

func (c *comparison) addMismatch(iface, path, want, got, format string, args ...any) {
	c.found = append(c.found, Mismatch{Interface: iface, Path: path, Want: want, Got: got, Sentence: fmt.Sprintf(format, args...)})
}

func (c *comparison) compareInterface(want Interface) {
	got, ok := findObserved(c.got, want)
	if want.State == StateAbsent || want.State == StateDown {
		if ok {
			c.compareTakenDown(want, got)
		}
		return
	}
	if !ok {
		c.addMismatch(want.Name, want.keyPath(""), "exists", "does not exist", "interface %s does not exist", want.Name)
		return
	}
	if got.State == StateDown {
		c.addMismatch(got.Name, want.keyPath("state"), StateUp, StateDown, "interface %s is down", got.Name)
	}
	want, got = want.canonical(), got.canonical()
	if got.Controller == nil && want.Controller != nil {
		got.Controller = controllerOf(c.got, got.Name)
	}
	c.compareLink(want, got)
	c.compareIP(IPv4, want, got)
	c.compareIP(IPv6, want, got)
}

// compareLink compares all that is not an address.
func (c *comparison) compareLink(want, got Interface) {
	for _, m := range tree.Missing(comparablePart(want, got), got) {
		if m.Unknown && keys.IsUntold(m.Path) {
			continue
		}
		words := strings.NewReplacer("mtu", "MTU", "mac-address", "MAC address", "vlan.id", "VLAN id").Replace(m.Path)
		c.addMismatch(got.Name, want.keyPath(m.Path), m.Want, m.Got, "interface %s has %s %s, not %s", got.Name, words, m.Got, m.Want)
		c.found[len(c.found)-1].Settled = keys.IsSettled(m.Path)
	}
	c.compareDot1X(want, got)
	c.compareBondMembers(want, got)
	c.compareBridgePorts(want, got)
}

// comparablePart leaves out of a desired interface what says how to do something rather than how it is to be.
func comparablePart(want, got Interface) Interface {
	want.Name, want.Type, want.State, want.Identifier, want.ProfileName, want.CopyMACFrom = got.Name, got.Type, got.State, "", "", ""
	want.IPv4, want.IPv6 = nil, nil
	if got.Type == TypeVRF {
		want.MACAddress = "" // the kernel chooses it, and NetworkManager sets none; nmstate takes no notice, too
	}
	if want.Controller != nil && *want.Controller == "" && got.Controller == nil {
		want.Controller = nil
	}
	if want.Bridge != nil {
		b := *want.Bridge
		b.AllowExtraPatchPorts, b.Ports = false, nil
		want.Bridge = &b
		if b.Options == nil {
			want.Bridge = nil
		}
	}
	if want.Description != nil && *want.Description == "" && got.Description == nil {
		want.Description = nil
	}
	if want.Bond != nil {
		want.Bond = want.Bond.withReportedOptions(got.Bond)
	}
	return want
}

// withReportedOptions leaves out of a desired bond the options that the observer does not report.
func (b *Bond) withReportedOptions(got *Bond) *Bond {
	out := *b
	out.Options = make(Options, len(b.Options))
	for k, v := range b.Options {
		if got == nil || got.Options[k] != "" {
			out.Options[k] = v
		}
	}
	if len(out.Options) == 0 {
		out.Options = nil
	}
	out.PortsConfig = nil // compared port by port
	return &out
}

// compareTakenDown judges what is to be down or absent: a virtual interface must not be up, a card and loopback
// only have to carry no addresses, for their links may stay up unused.
func (c *comparison) compareTakenDown(want, got Interface) {
	if got.Type != TypeEthernet && got.Type != TypeLoopback {
		if got.State == StateUp {
			c.addMismatch(want.Name, want.keyPath("state"), want.State, StateUp, "interface %s is up, not %s", want.Name, want.State)
		}
		return
	}
	for _, f := range []Family{IPv4, IPv6} {
		if all, _ := f.Of(got).canonical().Prefixes(); len(all) > 0 {
			c.addMismatch(want.Name, want.keyPath("state"), want.State, all[0].String(),
				"interface %s is to be %s and still has address %s", want.Name, want.State, all[0])
		}
	}
}

// findObserved prefers the type; a document may leave it out, and the carrier of addresses is meant where two interfaces
// share a name. veth and ethernet are one name space, as in nmstate.
func findObserved(in Document, want Interface) (Interface, bool) {
	if want.Identifier == IdentifierMAC {
		n, ok := findByMAC(in.Interfaces, want.MACAddress)
		if !ok {
			return Interface{}, false
		}
		return in.Interfaces[n], true
	}
	if want.Type == TypeEthernet || want.Type == TypeVeth {
		if i, ok := findCarrier(in, want.Name); ok && slices.Contains([]string{"", TypeEthernet, TypeVeth}, i.Type) {
			return i, true
		}
		return Interface{}, false
	}
	if want.Type != "" {
		return in.Find(want.Name, want.Type)
	}
	if want.MeansSwitch(in) {
		return in.Find(want.Name, TypeOVSBridge)
	}
	return findCarrier(in, want.Name)
}

func (c *comparison) compareIP(f Family, want, got Interface) {
	ip, have := f.Of(want), f.Of(got)
	if ip == nil {
		return
	}
	key := strings.ToLower(f.String())
	addrs, err := have.Prefixes()
	if err != nil {
		c.addMismatch(got.Name, want.keyPath(key), "", "", "interface %s: %v", want.Name, err)
	}
	if ip.Off() {
		if len(addrs) > 0 {
			c.addMismatch(
				got.Name,
				want.keyPath(key+".enabled"),
				"false",
				addrs[0].String(),
				"interface %s still has %s address %s",
				got.Name,
				f,
				addrs[0],
			)
		}
		return
	}
	c.compareToggle(f, want, got, "DHCP", ip.DHCP, have, func(i *IP) *bool { return i.DHCP })
	c.compareToggle(f, want, got, "autoconf", ip.Autoconf, have, func(i *IP) *bool { return i.Autoconf })
	c.compareAddresses(key, want, got, ip, addrs)
	c.compareAddressing(key, want, got, ip, have)
}

func (c *comparison) compareToggle(f Family, want, got Interface, name string, ask *bool, have *IP, of func(*IP) *bool) {
	if ask == nil || have == nil || of(have) == nil || *ask == *of(have) {
		return
	}
	path := want.keyPath(strings.ToLower(f.String() + "." + name))
	c.addMismatch(
		got.Name,
		path,
		onOff(*ask),
		onOff(*of(have)),
		"interface %s has %s %s %s, not %s",
		got.Name,
		f,
		name,
		onOff(*of(have)),
		onOff(*ask),
	)
}

func (c *comparison) compareAddresses(key string, want, got Interface, ip *IP, addrs []netip.Prefix) {
	wanted, err := ip.Prefixes()
	if err != nil {
		c.addMismatch(got.Name, want.keyPath(key), "", "", "interface %s: %v", want.Name, err)
	}
	path := want.keyPath(key + ".address")
	for n, p := range wanted {
		leased := ip.Auto() && ip.Addresses[n].Dynamic()
		if !leased && !slices.Contains(addrs, p) {
			c.addMismatch(got.Name, path, p.String(), fmt.Sprint(addrs), "interface %s lacks address %s", got.Name, p)
		}
	}
	if ip.AllowExtraAddress == nil || *ip.AllowExtraAddress {
		return
	}
	for _, p := range addrs {
		if !slices.Contains(wanted, p) {
			c.addMismatch(
				got.Name,
				path,
				fmt.Sprint(wanted),
				p.String(),
				"interface %s has address %s, which the document does not allow",
				got.Name,
				p,
			)
		}
	}
}

// compareAddressing compares what an observer may or may not be able to see; what it does not report is not held against it.
func (c *comparison) compareAddressing(key string, want, got Interface, ip, have *IP) {
	if have == nil || !ip.On() {
		return
	}
	ask := *ip
	ask.Enabled, ask.DHCP, ask.Autoconf, ask.Addresses, ask.AllowExtraAddress = nil, nil, nil, nil, nil // compared elsewhere
	if !ip.Auto() {
		ask = IP{AddrGenMode: ip.AddrGenMode}
	}
	for _, m := range tree.Missing(ask, *have) {
		if m.Got == "nothing" || m.Got == `""` {
			continue
		}
		c.addMismatch(got.Name, want.keyPath(key+"."+m.Path), m.Want, m.Got, "interface %s has %s %s %s, not %s", got.Name, key, m.Path,
			m.Got, m.Want)
		c.found[len(c.found)-1].Settled = true
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (c *comparison) compareRoutes(want Document) {
	var have []Route
	if c.got.Routes != nil {
		have = append(slices.Clone(c.got.Routes.Running), c.got.Routes.Config...)
	}
	for _, w := range want.Routes.Config {
		if w.Removes() {
			c.compareRemoval(w, have, want.Routes.Config)
			continue
		}
		shared := w.isMultipath(want.Routes.Config)
		i := slices.IndexFunc(have, func(h Route) bool { return w.isInForce(h, shared) })
		if i < 0 {
			c.addMismatch(w.NextHopInterface, "routes.config", w.String(), "nothing", "route %s is missing", w)
		}
	}
}

func (c *comparison) compareRemoval(order Route, have, config []Route) {
	for _, h := range have {
		if order.Matches(h) && !replacedBy(h, config) {
			c.addMismatch(h.NextHopInterface, "routes.config", "nothing", h.String(), "route %s is still there", h)
			return
		}
	}
}

func (c *comparison) compareRules(want Document) {
	var have []RouteRule
	if c.got.RouteRules != nil {
		have = append(slices.Clone(c.got.RouteRules.Config), c.got.RouteRules.Running...)
	}
	for _, w := range want.configRules() {
		if !w.Removes() {
			if !anyRule(have, func(h RouteRule) bool { return SameRule(w, h) }) {
				c.addMismatch("", "route-rules.config", w.String(), "nothing", "rule %s is missing", w)
			}
			continue
		}
		for _, h := range have {
			if w.Matches(h) && !anyRule(want.configRules(), func(r RouteRule) bool { return !r.Removes() && SameRule(r, h) }) {
				c.addMismatch("", "route-rules.config", "nothing", h.String(), "rule %s is still there", h)
				break
			}
		}
	}
}

func (c *comparison) compareResolver(want Resolver) {
	var have Resolver
	if c.got.DNS != nil && c.got.DNS.Running != nil {
		have = *c.got.DNS.Running
	}
	if want.Clears() {
		want = Resolver{Server: []string{}, Search: []string{}, Options: []string{}}
	}
	servers := have.Server
	if n := len(want.Server); n < len(servers) && anyAuto(c.got) {
		servers = servers[:n] // the network adds its own after the configured ones
	}
	if want.Server != nil && !SameServers(want.Server, servers) {
		c.addListMismatch("server", "DNS servers", want.Server, have.Server)
	}
	if want.Search != nil && !slices.Equal(want.Search, have.Search) && (len(want.Search) > 0 || !anyAuto(c.got)) {
		c.addListMismatch("search", "DNS search domains", want.Search, have.Search)
	}
	if want.Options != nil && c.got.DNS != nil && c.got.DNS.Config != nil {
		have.Options = c.got.DNS.Config.Options // others than the configured ones are NetworkManager's own
		if !slices.Equal(sortedStrings(want.Options), sortedStrings(have.Options)) {
			c.addListMismatch("options", "DNS options", want.Options, have.Options)
		}
	}
}

func (c *comparison) addListMismatch(key, words string, want, have []string) {
	w, h := "["+strings.Join(want, " ")+"]", "["+strings.Join(have, " ")+"]"
	c.addMismatch("", "dns-resolver.config."+key, w, h, "%s are %s, not %s", words, h, w)
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
