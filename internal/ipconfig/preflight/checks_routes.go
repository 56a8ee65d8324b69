package preflight

import (
	"fmt"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// checkDefaultRoute finds default routes that the kernel, and with it nodeip-configuration and configure-ovs, would prefer to
// the one that the change makes.
func checkDefaultRoute(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	found := otherDefaults(spec, f, func(metric int) bool { return metric <= ipconfig.DefaultRouteMetric })
	if found == "" {
		return checkKeptDefault(spec, f)
	}
	return "default routes of other interfaces come before that of br-ex: " + found,
		fmt.Sprintf("remove them, or give them a metric above %d", ipconfig.DefaultRouteMetric)
}

// checkKeptDefault finds a default route of the uplink itself that the change would keep, and that comes before the one it makes.
func checkKeptDefault(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	var found []string
	for _, r := range f.Current.Carry(spec).Kept.Routes {
		to, err := netstate.ParseDestination(r.Destination)
		changes := err == nil && (to.Addr().Is4() && spec.IPv4 != nil || to.Addr().Is6() && spec.IPv6 != nil)
		if changes && to.Bits() == 0 && r.Table() == netstate.MainTable && r.Metric <= ipconfig.DefaultRouteMetric {
			found = append(found, fmt.Sprintf("%s via %s (metric %d)", r.Destination, r.NextHopAddress, r.Metric))
		}
	}
	if len(found) == 0 {
		return "", ""
	}
	return "the uplink has another default route, which comes before that of the change: " + strings.Join(found, ", "),
		fmt.Sprintf("remove it, or give it a metric above %d", ipconfig.DefaultRouteMetric)
}

// checkLeft finds addresses and routes of the uplink that have no place on the new network.
func checkLeft(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	left := f.Current.Carry(spec).Reasons()
	if len(left) == 0 {
		return "", ""
	}
	return "the node loses what else its uplink has: " + strings.Join(left, "; "),
		"where something needs it, configure its successor once the change is complete ('lca-cli ip-config plan' lists what is kept)"
}

func checkOtherDefaults(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	found := otherDefaults(spec, f, func(metric int) bool { return metric > ipconfig.DefaultRouteMetric })
	if found == "" {
		return "", ""
	}
	return "other interfaces have a default route too: " + found,
		"they are left alone; while the uplink is down, or before br-ex exists, traffic takes them"
}

// otherDefaults names the default routes that do not lead over br-ex or its uplink, of the families that change.
func otherDefaults(spec lcav1.IPConfigSpec, f Facts, counts func(metric int) bool) string {
	var found []string
	for _, family := range ipconfig.DesiredFamilies(spec, f.Current) {
		for _, r := range f.Current.Routes {
			to, err := netstate.ParseDestination(r.Destination)
			if err == nil && to.Bits() == 0 && to.Addr().Is4() == (family.Name == "ipv4") && !onUplink(r, f.Current) && counts(r.Metric) {
				found = append(found, fmt.Sprintf("%s over %s (metric %d)", r.Destination, r.NextHopInterface, r.Metric))
			}
		}
	}
	return strings.Join(found, ", ")
}

func onUplink(r netstate.Route, now ipconfig.Current) bool {
	return r.NextHopInterface == host.BridgeExternal || r.NextHopInterface == now.Uplink
}

// checkRoutes finds routes that take part of the new network away. Routes to more than the network do not: the
// network's own is more specific.
func checkRoutes(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	return judgeEach(spec, f, func(w ipconfig.DesiredFamily) (string, string) {
		network := w.OnLink()
		if !network.IsValid() {
			return "", "" // the checks of the addresses say it
		}
		var found []string
		for _, r := range f.Current.Routes {
			to, err := netstate.ParseDestination(r.Destination)
			connected := onUplink(r, f.Current) && r.NextHopAddress == ""
			if err == nil && !connected && to.Bits() >= network.Bits() && network.Contains(to.Addr()) {
				found = append(found, fmt.Sprintf("%s over %s", r.Destination, r.NextHopInterface))
			}
		}
		if len(found) == 0 {
			return "", ""
		}
		return fmt.Sprintf("routes lead part of the new network %s elsewhere: %s", network, strings.Join(found, ", ")),
			"remove these routes, or choose another network"
	})
}
