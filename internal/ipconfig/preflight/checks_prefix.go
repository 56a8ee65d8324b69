package preflight

import (
	"fmt"
	"net/netip"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// checkPrefixKnown finds the families for which neither the network card nor the spec says what is on the link. The machine
// network does not: it may be ten times as wide.
func checkPrefixKnown(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	for _, w := range resultingFamilies(spec, f.Current) {
		if w.PrefixLength > 0 || w.Address == "" {
			continue
		}
		return fmt.Sprintf("the prefix length of %s address %s is not known: br-ex does not have the node's present address",
				w.Name, w.Address),
			"set spec." + w.Name + ".machineNetwork to the network on the link, or check 'ip address show br-ex' on the node"
	}
	return "", ""
}

// checkPrefix reports a prefix length that may surprise: one wider than the link cuts off what is behind the gateway.
func checkPrefix(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	for _, w := range resultingFamilies(spec, f.Current) {
		have, machine := cardPrefix(w.Name, f.Current), bitsOf(w.Network)
		switch {
		case have == 0 || w.PrefixLength == 0:
		case w.PrefixLength != have:
			return fmt.Sprintf("%s address %s gets prefix length /%d of the new machine network %s, and the network card has /%d now",
					w.Name, w.Address, w.PrefixLength, w.Network, have),
				fmt.Sprintf("check that all of %s is on the link at the new site: the node does not ask the gateway for it", w.OnLink())
		case machine > 0 && machine != have:
			return fmt.Sprintf("machine network %s has prefix length /%d, and the network card has /%d: %s address %s keeps /%d",
					w.Network, machine, have, w.Name, w.Address, have),
				fmt.Sprintf("only %s is on the link; if that is not so at the new site, set spec.%s.machineNetwork to the network that is",
					w.OnLink(), w.Name)
		}
	}
	return "", ""
}

// resultingFamilies are all families that the node has after the change, those of the spec and those that it leaves as they are.
func resultingFamilies(spec lcav1.IPConfigSpec, now ipconfig.Current) []ipconfig.DesiredFamily {
	if spec.IPv4 == nil && now.IPv4 != nil {
		spec.IPv4 = &lcav1.IPv4Config{Address: now.IPv4.Address}
	}
	if spec.IPv6 == nil && now.IPv6 != nil {
		spec.IPv6 = &lcav1.IPv6Config{Address: now.IPv6.Address}
	}
	return ipconfig.DesiredFamilies(spec, now)
}

func cardPrefix(family string, now ipconfig.Current) int {
	have := map[string]*lcav1.IPStatus{"ipv4": now.IPv4, "ipv6": now.IPv6}[family]
	if have == nil {
		return 0
	}
	return int(have.PrefixLength)
}

func bitsOf(network string) int {
	p, err := netip.ParsePrefix(network)
	if err != nil {
		return 0
	}
	return p.Bits()
}
