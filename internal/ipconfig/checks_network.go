package ipconfig

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

func checkGatewayOnLink(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	return judgeEach(spec, f, wanted.judgeGateway)
}

func (w wanted) judgeGateway() (string, string) {
	network, err := netip.ParsePrefix(w.network)
	if err != nil {
		return "", "" // the check of the addresses says it
	}
	if w.gateway == "" {
		return fmt.Sprintf("the node would have no default gateway for %s", w.address), "set spec." + w.name + ".gateway"
	}
	gw, err := netip.ParseAddr(w.gateway)
	switch {
	case err != nil || gw.Is4() != (w.name == "ipv4"):
		return fmt.Sprintf("gateway %q of spec.%s is not an address of that family", w.gateway, w.name),
			"correct spec." + w.name + ".gateway"
	case !network.Contains(gw) && (gw.Is4() || !gw.IsLinkLocalUnicast()):
		return fmt.Sprintf("gateway %s is not on the link: it is outside %s", gw, network),
			"set spec." + w.name + ".gateway to the router inside the new machine network"
	}
	return "", ""
}

func checkGatewayNotSelf(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	return judgeEach(spec, f, func(w wanted) (string, string) {
		if !sameAddr(w.gateway, w.address) {
			return "", ""
		}
		return fmt.Sprintf("spec.%s.gateway is the node's own address %s", w.name, w.address), "enter the router's address"
	})
}

func checkOverlap(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	return judgeEach(spec, f, func(w wanted) (string, string) {
		network, err := netip.ParsePrefix(w.network)
		if err != nil {
			return "", "" // the check of the addresses says it
		}
		for _, inner := range []struct {
			what     string
			networks []netip.Prefix
		}{{"pods", f.ClusterNetworks}, {"services", f.ServiceNetworks}, {"OVN itself", f.JoinNetworks}} {
			if i := slices.IndexFunc(inner.networks, network.Overlaps); i >= 0 {
				return fmt.Sprintf("machine network %s overlaps the cluster's inner network %s (of %s)",
						network, inner.networks[i], inner.what),
					"choose a machine network that does not: the node could not tell the two apart"
			}
		}
		return "", ""
	})
}

// Proxy is how the cluster reaches the world outside.
type Proxy struct{ HTTPProxy, HTTPSProxy, NoProxy string }

func checkProxy(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	var found []string
	for _, w := range leaving(spec, f.Current) {
		for _, s := range []struct{ field, value string }{
			{"httpProxy", f.Proxy.HTTPProxy}, {"httpsProxy", f.Proxy.HTTPSProxy}, {"noProxy", f.Proxy.NoProxy},
		} {
			if mention := mentioned(s.value, w); mention != "" {
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

// leaving is what the node has now and will not have afterwards.
func leaving(spec lcav1.IPConfigSpec, now Current) (out []lcav1.IPStatus) {
	after := map[string]wanted{}
	for _, w := range wantedFamilies(spec, now) {
		after[w.name] = w
	}
	for name, have := range map[string]*lcav1.IPStatus{"ipv4": now.IPv4, "ipv6": now.IPv6} {
		w, changes := after[name]
		if have == nil || !changes {
			continue
		}
		gone := lcav1.IPStatus{}
		if !sameAddr(have.Address, w.address) {
			gone.Address = have.Address
		}
		if !samePrefix(have.MachineNetwork, w.network) {
			gone.MachineNetwork = have.MachineNetwork
		}
		out = append(out, gone)
	}
	slices.SortFunc(out, func(a, b lcav1.IPStatus) int { return strings.Compare(a.Address, b.Address) })
	return out
}

// mentioned is the address or network in a proxy setting, a URL or a list of addresses, networks and
// domains, that is meant by gone.
func mentioned(setting string, gone lcav1.IPStatus) string {
	for item := range strings.SplitSeq(setting, ",") {
		item = strings.TrimSpace(item)
		if u, err := url.Parse(item); err == nil && u.Hostname() != "" {
			item = u.Hostname()
		}
		if sameAddr(item, gone.Address) || samePrefix(item, gone.MachineNetwork) {
			return item
		}
	}
	return ""
}
