package preflight

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

func checkGatewayOnLink(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	return judgeEach(spec, f, judgeGateway)
}

func judgeGateway(w ipconfig.DesiredFamily) (string, string) {
	link := w.OnLink()
	if !link.IsValid() {
		return "", "" // the checks of the addresses say it
	}
	if w.Gateway == "" {
		return fmt.Sprintf("the node would have no default gateway for %s", w.Address), "set spec." + w.Name + ".gateway"
	}
	gw, err := netip.ParseAddr(w.Gateway)
	switch {
	case err != nil || gw.Is4() != (w.Name == "ipv4"):
		return fmt.Sprintf("gateway %q of spec.%s is not an address of that family", w.Gateway, w.Name),
			"correct spec." + w.Name + ".gateway"
	case !link.Contains(gw) && (gw.Is4() || !gw.IsLinkLocalUnicast()):
		return fmt.Sprintf("gateway %s is not on the link: it is outside %s", gw, link),
			"set spec." + w.Name + ".gateway to the router inside the new network"
	}
	return "", ""
}

func checkGatewayNotSelf(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	return judgeEach(spec, f, func(w ipconfig.DesiredFamily) (string, string) {
		gateway, err := netip.ParseAddr(w.Gateway)
		if err != nil {
			return "", "" // the check of the gateway says it
		}
		own := ownAddress(gateway, spec, f)
		if own == "" {
			return "", ""
		}
		return fmt.Sprintf("spec.%s.gateway is %s %s", w.Name, own, w.Gateway), "enter the router's address"
	})
}

func checkOverlap(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	return judgeEach(spec, f, func(w ipconfig.DesiredFamily) (string, string) {
		network, err := netip.ParsePrefix(w.Network)
		if err != nil {
			return "", "" // the check of the addresses says it
		}
		if link := w.OnLink(); link.IsValid() && link.Bits() < network.Bits() {
			network = link
		}
		for _, inner := range f.innerNetworks() {
			if i := slices.IndexFunc(inner.networks, network.Overlaps); i >= 0 {
				return fmt.Sprintf("machine network %s overlaps the cluster's inner network %s (of %s)",
						network, inner.networks[i], inner.what),
					"choose a machine network that does not: the node could not tell the two apart"
			}
		}
		return "", ""
	})
}

// innerNetwork is what the networks are for.
type innerNetwork struct {
	what     string
	networks []netip.Prefix
}

// innerNetworks are those of the cluster that no machine outside it is on.
func (f Facts) innerNetworks() []innerNetwork {
	return []innerNetwork{{"pods", f.ClusterNetworks}, {"services", f.ServiceNetworks}, {"OVN itself", f.JoinNetworks}}
}

func checkDNSKept(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	if len(spec.DNSServers) > 0 || len(f.Current.DNSServers) == 0 {
		return "", ""
	}
	for _, gone := range removedAddresses(spec, f.Current) {
		if gone.MachineNetwork != "" {
			return fmt.Sprintf("the node leaves machine network %s and keeps its DNS servers %s",
					gone.MachineNetwork, strings.Join(f.Current.DNSServers, ", ")),
				"set spec.dnsServers if the new site has others; a server that does not answer there rolls the change back " +
					"unless another of its family does"
		}
	}
	return "", ""
}

// Proxy is how the cluster reaches the world outside.
type Proxy struct{ HTTPProxy, HTTPSProxy, NoProxy string }

func checkProxy(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	var found []string
	for _, w := range removedAddresses(spec, f.Current) {
		for _, s := range []struct{ field, value string }{
			{"httpProxy", f.Proxy.HTTPProxy}, {"httpsProxy", f.Proxy.HTTPSProxy}, {"noProxy", f.Proxy.NoProxy},
		} {
			if mention := findMention(s.value, w); mention != "" {
				found = append(found, s.field+" names "+mention)
			}
		}
	}
	if len(found) == 0 {
		return "", ""
	}
	return "the cluster's proxy settings name what the change takes away: " + strings.Join(found, ", "),
		"the change leaves proxy settings alone; edit Proxy cluster ('oc edit proxy cluster') once it is done"
}

// removedAddresses is what the node has now and will not have afterwards.
func removedAddresses(spec lcav1.IPConfigSpec, now ipconfig.Current) (out []lcav1.IPStatus) {
	after := map[string]ipconfig.DesiredFamily{}
	for _, w := range ipconfig.DesiredFamilies(spec, now) {
		after[w.Name] = w
	}
	for name, have := range map[string]*lcav1.IPStatus{"ipv4": now.IPv4, "ipv6": now.IPv6} {
		w, changes := after[name]
		if have == nil || !changes {
			continue
		}
		gone := lcav1.IPStatus{}
		if !ipconfig.SameAddr(have.Address, w.Address) {
			gone.Address = have.Address
		}
		if !ipconfig.SamePrefix(have.MachineNetwork, w.Network) {
			gone.MachineNetwork = have.MachineNetwork
		}
		out = append(out, gone)
	}
	slices.SortFunc(out, func(a, b lcav1.IPStatus) int { return strings.Compare(a.Address, b.Address) })
	return out
}

// findMention is the address or network in a proxy setting, a URL or a list of addresses, networks and
// domains, that is meant by gone.
func findMention(setting string, gone lcav1.IPStatus) string {
	for item := range strings.SplitSeq(setting, ",") {
		item = strings.TrimSpace(item)
		if u, err := url.Parse(item); err == nil && u.Hostname() != "" {
			item = u.Hostname()
		}
		if ipconfig.SameAddr(item, gone.Address) || ipconfig.SamePrefix(item, gone.MachineNetwork) {
			return item
		}
	}
	return ""
}
