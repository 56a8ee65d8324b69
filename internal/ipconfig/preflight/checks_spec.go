package preflight

import (
	"fmt"
	"net/netip"
	"slices"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

func checkFamilies(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	if spec.IPv4 == nil && spec.IPv6 == nil {
		return "spec names neither an IPv4 nor an IPv6 address", "set spec.ipv4.address or spec.ipv6.address"
	}
	if spec.IPv4 != nil && (f.Current.IPv4 == nil || f.Current.IPv4.Address == "") {
		return "spec.ipv4 is set but the node has no IPv4 address", "remove spec.ipv4; a family can be changed, not added"
	}
	if spec.IPv6 != nil && (f.Current.IPv6 == nil || f.Current.IPv6.Address == "") {
		return "spec.ipv6 is set but the node has no IPv6 address", "remove spec.ipv6; a family can be changed, not added"
	}
	return "", ""
}

// checkCoupling holds the rule that gateway, machine network, DNS, VLAN and filter change only
// together with an address.
func checkCoupling(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	changes := ipconfig.InSync(spec, f.Current)
	moved := func(family string) bool { return slices.Contains(changes, family+".address") }
	for _, family := range []string{"ipv4", "ipv6"} {
		for _, field := range []string{".gateway", ".machineNetwork"} {
			if slices.Contains(changes, family+field) && !moved(family) {
				return "spec." + family + field + " differs from the node's but spec." + family + ".address does not",
					"change the address too, or leave " + family + field + " as it is"
			}
		}
	}
	if moved("ipv4") || moved("ipv6") {
		return "", ""
	}
	if slices.Contains(changes, "dnsServers") {
		return "spec.dnsServers differs from the node's but no address does", "change an address too, or leave the DNS servers as they are"
	}
	return "", ""
}

func checkAddresses(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	return judgeEach(spec, f, checkFamily)
}

// judgeEach is the first problem of any family.
func judgeEach(spec lcav1.IPConfigSpec, f Facts, judge func(ipconfig.DesiredFamily) (string, string)) (string, string) {
	for _, fam := range ipconfig.DesiredFamilies(spec, f.Current) {
		if problem, hint := judge(fam); problem != "" {
			return problem, hint
		}
	}
	return "", ""
}

func checkFamily(w ipconfig.DesiredFamily) (string, string) {
	addr, err := netip.ParseAddr(w.Address)
	if err != nil || addr.Is4() != (w.Name == "ipv4") {
		return fmt.Sprintf("spec.%s.address %q is not an address of that family", w.Name, w.Address), "correct it"
	}
	if why := ipconfig.UnusableAddress(addr); why != "" {
		return fmt.Sprintf("spec.%s.address %s %s", w.Name, addr, why), "choose a unicast address of the new machine network"
	}
	network, err := netip.ParsePrefix(w.Network)
	if err != nil {
		return fmt.Sprintf("the machine network of %s (%q) is not known", w.Address, w.Network), "set spec." + w.Name + ".machineNetwork"
	}
	link := w.OnLink()
	switch {
	case !network.Contains(addr):
		return fmt.Sprintf("spec.%s.address %s is outside its machine network %s", w.Name, addr, network),
			"set spec." + w.Name + ".machineNetwork to the network of the new address, or choose an address inside it"
	case addr.Is4() && link.IsValid() && link.Bits() < 31 && (addr == link.Addr() || addr == broadcastAddress(link)):
		return fmt.Sprintf("spec.%s.address %s is the network or broadcast address of %s", w.Name, addr, link), "choose a host address"
	}
	return "", ""
}

func broadcastAddress(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(b)
}

func checkDNS(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	for _, s := range spec.DNSServers {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return fmt.Sprintf("DNS server %q is not an IP address", s), "correct spec.dnsServers"
		}
		have := f.Current.IPv6
		if a.Is4() {
			have = f.Current.IPv4
		}
		if have == nil || have.Address == "" {
			return fmt.Sprintf("DNS server %s is of a family the node does not have", a), "remove it from spec.dnsServers"
		}
		if why := uselessServer(a, spec, f); why != "" {
			return fmt.Sprintf("DNS server %s %s", a, why), "enter a DNS server of the site: the node's own one asks it"
		}
	}
	return "", ""
}

// uselessServer says why no DNS server can be at the address; empty where one can.
func uselessServer(a netip.Addr, spec lcav1.IPConfigSpec, f Facts) string {
	if why := ipconfig.UnusableAddress(a); why != "" {
		return why
	}
	if own := ownAddress(a, spec, f); own != "" {
		return "is " + own + ", and would ask itself"
	}
	for _, inner := range f.innerNetworks() {
		if i := slices.IndexFunc(inner.networks, func(n netip.Prefix) bool { return n.Contains(a) }); i >= 0 {
			return fmt.Sprintf("is in the cluster's inner network %s (of %s), which the node's DNS server does not reach before the "+
				"cluster runs", inner.networks[i], inner.what)
		}
	}
	return ""
}

// ownAddress says which of the node's addresses, before or after the change, it is; empty where it is none.
func ownAddress(a netip.Addr, spec lcav1.IPConfigSpec, f Facts) string {
	for _, w := range ipconfig.DesiredFamilies(spec, f.Current) {
		if ipconfig.SameAddr(w.Address, a.String()) {
			return "the node's own new address"
		}
	}
	for _, have := range []*lcav1.IPStatus{f.Current.IPv4, f.Current.IPv6} {
		if have != nil && ipconfig.SameAddr(have.Address, a.String()) {
			return "the node's own present address"
		}
	}
	if slices.ContainsFunc(f.Current.Extras.Addresses, func(p netip.Prefix) bool { return p.Addr() == a }) {
		return "another address of the node's uplink"
	}
	return ""
}

func checkVLAN(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	changes := ipconfig.InSync(spec, f.Current)
	if !slices.Contains(changes, "vlanID") {
		return "", ""
	}
	if !slices.Contains(changes, "ipv4.address") && !slices.Contains(changes, "ipv6.address") {
		return "spec.vlanID differs from the node's but no address does", "change an address too, or leave spec.vlanID out to keep the VLAN"
	}
	return "", ""
}

func checkFilter(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	switch spec.DNSFilterOutFamily {
	case lcav1.DNSFilterIPv4, lcav1.DNSFilterIPv6:
		if f.Current.IPv4 == nil || f.Current.IPv6 == nil || f.Current.IPv4.Address == "" || f.Current.IPv6.Address == "" {
			return fmt.Sprintf("spec.dnsFilterOutFamily is %s but the node is not dual-stack", spec.DNSFilterOutFamily),
				"filtering would leave no records; set it to none"
		}
	default: // no family is left out
	}
	return "", ""
}

// leastWatchdogTime is what post-pivot, the cluster's start and operators that settle take on a small OpenShift node.
const leastWatchdogTime = 600

func checkWatchdogTime(spec lcav1.IPConfigSpec, _ Facts) (string, string) {
	need := leastWatchdogTime
	for _, p := range spec.Probes {
		need += int(p.TimeoutSeconds)
	}
	if a := spec.AutoRollbackOnFailure; a == nil || a.InitMonitorTimeoutSeconds == 0 || int(a.InitMonitorTimeoutSeconds) >= need {
		return "", ""
	}
	return fmt.Sprintf("the watchdog rolls back after %d s of the new system, and a node needs %d s or more to prove a change",
			spec.AutoRollbackOnFailure.InitMonitorTimeoutSeconds, need),
		"raise spec.autoRollbackOnFailure.initMonitorTimeoutSeconds, or leave it out for 1800 s"
}
