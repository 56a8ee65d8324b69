package netstate

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/topo"
)

// Problems are the reasons why a document is refused, each one clear sentence that begins with the key's path.
type Problems []string

// Error joins the sentences.
func (p Problems) Error() string { return "network document: " + strings.Join(p, "; ") }

// Limits of what a document may say.
const (
	MaxNameLength = 15   // IFNAMSIZ - 1
	minMTUv6      = 1280 // RFC 8200 section 5
	maxVLAN       = 4094
	maxTable      = 1<<32 - 1
)

// Validate checks a desired document for what can be told without knowing the
// node. It returns nil or Problems with everything that is wrong, not the first.
func Validate(d Document) error {
	v := &validator{}
	seen := map[string]bool{}
	for _, i := range d.Interfaces {
		v.checkDuplicate(seen, i)
		v.checkInterface(i)
	}
	v.checkPorts(d)
	v.checkCycles(d)
	v.checkStackedMTUs(d)
	for n, r := range d.configRoutes() {
		v.at = fmt.Sprintf("routes.config[%d]", n)
		v.checkRoute(d, r)
	}
	for n, r := range d.configRules() {
		v.at = fmt.Sprintf("route-rules.config[%d]", n)
		v.checkRule(r)
	}
	if d.DNS != nil {
		v.checkResolver(d.DNS.Config)
	}
	v.checkNodeWide(d)
	if len(v.problems) > 0 {
		return v.problems
	}
	return nil
}

type validator struct {
	problems Problems
	// at is the path of what is looked at.
	at string
}

func (v *validator) addProblem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(v.at+": "+format, args...))
}

// checkDuplicate refuses two entries for one link. A bridge of Open vSwitch shares its name with its internal port; all other
// types have one name space, in which an entry without a type means whichever it is.
func (v *validator) checkDuplicate(seen map[string]bool, i Interface) {
	v.at = i.keyPath("")
	if key := nameKey(i); seen[key] {
		v.addProblem("interface %q appears twice", i.Name)
	} else {
		seen[key] = true
	}
}

func (v *validator) checkInterface(i Interface) {
	v.at = i.keyPath("")
	if reason := badName(i.Name); reason != "" && i.Identifier != IdentifierMAC {
		v.addProblem("interface name %q %s", i.Name, reason)
		return
	}
	if slices.Contains([]string{"all", "default", "bonding_masters"}, i.Name) {
		v.addProblem("interface name %q is reserved by the kernel", i.Name)
	}
	if i.State == StateAbsent || i.State == StateIgnore {
		return // the other keys have no effect
	}
	v.checkIdentity(i)
	v.checkLoopback(i)
	v.checkType(i)
	v.checkKeys(i)
	v.checkMTU(i)
	v.checkKinds(i)
	v.checkMPTCP(i)
	if i.Type == TypeOVSBridge && (i.IPv4 != nil || i.IPv6 != nil || i.MTU != 0 || i.MACAddress != "") {
		v.at = i.keyPath("")
		v.addProblem("an ovs-bridge carries no addresses, no MTU and no MAC address; give them to its ovs-interface")
	}
	v.checkIP(i, IPv4)
	v.checkIP(i, IPv6)
}

// checkOneOf checks a word. The empty one is listed where it is allowed and not named to the reader.
func (v *validator) checkOneOf(i Interface, key, value string, allowed ...string) {
	if slices.Contains(allowed, value) {
		return
	}
	v.at = i.keyPath(key)
	named := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
	v.addProblem("%q is none of %s", value, strings.Join(named, ", "))
}

func (v *validator) checkIdentity(i Interface) {
	if i.Identifier == IdentifierMAC && i.MACAddress == "" {
		v.at = i.keyPath("mac-address")
		v.addProblem("is missing; identifier: mac-address finds the interface by it")
	}
	if hw, err := net.ParseMAC(i.MACAddress); i.MACAddress != "" && (err != nil || len(hw) != 6) {
		v.at = i.keyPath("mac-address")
		v.addProblem("%q is not a MAC address", i.MACAddress)
	} else if err == nil && hw[0]&1 == 1 {
		v.at = i.keyPath("mac-address")
		v.addProblem("%s is a group address; an interface cannot have it", i.MACAddress)
	}
	if i.CopyMACFrom != "" {
		v.at = i.keyPath("copy-mac-from")
		if i.MACAddress != "" {
			v.addProblem("excludes mac-address; give one of the two")
		}
	}
}

func (v *validator) checkType(i Interface) {
	if known := keys.Configurable(); i.Type != "" && !slices.Contains(known, i.Type) {
		v.at = i.keyPath("type")
		if t, _ := keys.TypeOf(i.Type); t.Note != "" {
			v.addProblem("%q is not a type that can be configured: %s", i.Type, t.Note)
			return
		}
		v.addProblem("%q is not a type that can be configured; those are %s", i.Type, strings.Join(known, ", "))
	}
}

func (v *validator) checkMTU(i Interface) {
	v.at = i.keyPath("mtu")
	switch {
	case i.MTU != 0 && i.MTU < minMTUv6 && i.IPv6.On():
		v.addProblem("IPv6 needs an MTU of at least %d, not %d", minMTUv6, i.MTU)
	case i.MTU != 0 && (i.MaxMTU > 0 && i.MTU > i.MaxMTU || i.MTU < i.MinMTU):
		v.addProblem("MTU %d is outside %d-%d, which the interface can do", i.MTU, i.MinMTU, i.MaxMTU)
	}
}

func (v *validator) checkIP(i Interface, f Family) {
	ip, key := f.Of(i), strings.ToLower(f.String())
	v.at = i.keyPath(key)
	if ip == nil {
		return
	}
	if ip.Off() && (len(ip.Addresses) > 0 || isTrue(ip.DHCP) || isTrue(ip.Autoconf)) {
		v.addProblem("%s is disabled and configured at once", f)
	}
	v.checkAddressing(i, f, ip)
	v.at = i.keyPath(key + ".address")
	var seen []netip.Addr
	for _, a := range ip.Addresses {
		p, err := a.Prefix()
		switch {
		case err != nil:
			v.addProblem("%v", err)
		case FamilyOf(p.Addr()) != f:
			v.addProblem("%s is not an %s address", a.IP, f)
		case p.Addr().IsUnspecified() || p.Addr().IsMulticast() || p.Bits() == 0 || p.Addr().IsLoopback() && i.Type != TypeLoopback:
			v.addProblem("%s cannot be an address of a host", p)
		case p.Addr().Is4In6():
			v.addProblem("%s is an IPv4 address in IPv6 clothing", a.IP)
		case networkOrBroadcast(p):
			v.addProblem("%s is the network or broadcast address of its own network", p)
		case slices.Contains(seen, p.Addr()):
			v.addProblem("address %s appears twice", p.Addr())
		default:
			seen = append(seen, p.Addr())
		}
	}
}

func (v *validator) checkAddressing(i Interface, f Family, ip *IP) {
	if f == IPv6 && ip.Autoconf != nil && *ip.Autoconf && ip.DHCP != nil && !*ip.DHCP {
		v.addProblem("autoconf without dhcp is not implemented; set both, or neither")
	}
	v.at = i.keyPath(strings.ToLower(f.String()))
	if t := textOf(ip.Token); t != "" {
		if ip.AddrGenMode != "" && ip.AddrGenMode != "eui64" {
			v.addProblem("token is used with addr-gen-mode eui64 only; leave addr-gen-mode out")
		}
		if ip.Autoconf != nil && !*ip.Autoconf {
			v.addProblem("token is used with autoconf only; set autoconf, or leave the token out")
		}
		if a, err := netip.ParseAddr(t); err != nil || !a.Is6() {
			v.addProblem("token %q is not the lower half of an IPv6 address such as ::10", t)
		}
	}
}

// networkOrBroadcast catches the two addresses of an IPv4 network that no host should have. Networks of one or two addresses
// (RFC 3021) have no such, and of those with four, point-to-point links use all.
func networkOrBroadcast(p netip.Prefix) bool {
	if !p.Addr().Is4() || p.Bits() >= 30 {
		return false
	}
	last := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	return p.Addr() == p.Masked().Addr() || p.Addr() == netip.AddrFrom4(last)
}

// checkPorts refuses a port that two controllers claim, addresses on a port, and a port that says otherwise itself.
func (v *validator) checkPorts(d Document) {
	owner := map[string]Interface{}
	for _, i := range d.Interfaces {
		if i.State == StateAbsent || i.State == StateDown || i.State == StateIgnore {
			continue
		}
		v.at = i.keyPath("")
		seen := map[string]bool{}
		for _, p := range i.Ports() {
			other, taken := owner[p]
			switch {
			case seen[p]:
				v.addProblem("port %q is listed twice", p)
			case p == i.Name && i.Type != TypeOVSBridge && i.Type != "":
				v.addProblem("it cannot be its own port")
			case taken:
				v.addProblem("port %q belongs to %q already", p, other.Name)
			case badName(p) != "":
				v.addProblem("the name of port %q %s", p, badName(p))
			}
			owner[p], seen[p] = i, true
		}
	}
	for _, i := range d.Interfaces {
		v.checkController(d, i)
		c, owned := owner[i.Name]
		if !owned || i.Type == TypeOVSBridge {
			continue
		}
		v.checkPort(i, c)
	}
}

func (v *validator) checkPort(i, controller Interface) {
	v.at = i.keyPath("")
	if i.State == StateAbsent || i.State == StateDown {
		v.addProblem("it is to be %s and a port of %q at once", i.State, controller.Name)
		return
	}
	if i.Controller != nil && *i.Controller != controller.Name {
		v.at = i.keyPath("controller")
		v.addProblem("%q contradicts %s, which lists %s", *i.Controller, controller.portListPath(), i.Name)
	}
	if controller.Type == TypeVRF || i.Type == TypeOVSInterface ||
		controller.Type == TypeOVSBridge && (i.Type == "" || i.Name == controller.Name) {
		return
	}
	if i.IPv4.On() || i.IPv6.On() {
		v.at = i.keyPath("")
		v.addProblem("it is a port of %q and cannot have addresses; give them to %q", controller.Name, controller.Name)
	}
}

func (v *validator) checkCycles(d Document) {
	var loop *topo.CycleError
	if _, err := Order(d.Interfaces); errors.As(err, &loop) {
		v.at = "interfaces"
		v.addProblem("%s", strings.ReplaceAll(loop.Error(), "ovs-bridge/", ""))
	}
}

func badName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > MaxNameLength:
		return fmt.Sprintf("is longer than %d characters", MaxNameLength)
	case name == "." || name == "..":
		return "is reserved"
	}
	for _, r := range name {
		if r <= ' ' || r == '/' || r == ':' || r == 0x7f {
			return "holds a character the kernel refuses"
		}
	}
	return ""
}
