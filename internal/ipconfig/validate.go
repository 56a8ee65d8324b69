package ipconfig

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// Validate judges a requested change against the facts, before anything is touched. It
// returns every check it made, passed or not; Refusal turns them into one error.
func Validate(spec lcav1.IPConfigSpec, f Facts) []lcav1.PreflightCheck {
	var checks []lcav1.PreflightCheck
	for _, c := range checkList {
		problem, hint := c.find(spec, f)
		checks = append(checks, lcav1.PreflightCheck{
			Name: c.name, Severity: c.severity, OK: problem == "", Message: problem, Hint: hint,
		})
	}
	return checks
}

// Refusal is the error that the failed blocking checks amount to; nil when there are none.
func Refusal(checks []lcav1.PreflightCheck) error {
	var found []string
	for _, c := range checks {
		if !c.OK && c.Severity == lcav1.PreflightBlocking {
			found = append(found, strings.TrimSuffix(c.Message, ".")+": "+c.Hint)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return errors.New(strings.Join(found, "; "))
}

type check struct {
	name     string
	severity lcav1.PreflightSeverity
	// find returns the problem and what to do about it, or nothing.
	find func(lcav1.IPConfigSpec, Facts) (problem, hint string)
}

// checkList is every check, in the order in which a person would ask.
var checkList = []check{
	{"single-node", lcav1.PreflightBlocking, checkSingleNode},
	{"static-network", lcav1.PreflightBlocking, checkStatic},
	{"dnsmasq-machineconfig", lcav1.PreflightBlocking, checkDnsmasq},
	{"recert-engine", lcav1.PreflightBlocking, checkEngine},
	{"families", lcav1.PreflightBlocking, checkFamilies},
	{"coupling", lcav1.PreflightBlocking, checkCoupling},
	{"addresses", lcav1.PreflightBlocking, checkAddresses},
	{"overlap", lcav1.PreflightBlocking, checkOverlap},
	{"dns-servers", lcav1.PreflightBlocking, checkDNS},
	{"vlan", lcav1.PreflightBlocking, checkVLAN},
	{"dns-filter", lcav1.PreflightBlocking, checkFilter},
	{"boot-entry", lcav1.PreflightBlocking, checkSetDefault},
	{"uplink", lcav1.PreflightBlocking, checkUplink},
	{"own-state", lcav1.PreflightBlocking, checkOwnState},
	{"disk-space", lcav1.PreflightBlocking, checkDisk},
	{"leftover-stateroots", lcav1.PreflightWarning, checkLeftovers},
}

func checkSingleNode(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	switch {
	case f.ControlPlaneNodes != 1:
		return fmt.Sprintf("the cluster has %d control plane nodes", f.ControlPlaneNodes),
			"an IP change works on a single-node cluster only"
	case f.OtherNodes > 0:
		return fmt.Sprintf("the cluster has %d worker nodes beside its control plane node", f.OtherNodes),
			"they would lose their API server; remove them first, or leave the address as it is"
	}
	return "", ""
}

func checkStatic(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if len(f.Current.Dynamic) == 0 {
		return "", ""
	}
	return "br-ex gets its configuration dynamically (" + strings.Join(f.Current.Dynamic, ", ") + ")",
		"give the node a static address first; a change of a leased address would not last"
}

func checkDnsmasq(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if f.DnsmasqMachineConfig {
		return "", ""
	}
	return "MachineConfig 50-master-dnsmasq-configuration does not exist",
		"the node's own names (api, api-int, *.apps) could not follow the address; create it as the Assisted Installer does"
}

func checkEngine(_ lcav1.IPConfigSpec, f Facts) (string, string) { return refuseImage(f.RecertImage) }

// refuseImage refuses the container engine.
func refuseImage(image string) (string, string) {
	if image == "" {
		return "", ""
	}
	return "recert in a container is not supported",
		"remove annotation " + lcav1.RecertImageAnnotation + ": lca-cli rewrites certificates by itself and needs no image"
}

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
	changes := InSync(spec, f.Current)
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
	for _, fam := range wantedFamilies(spec, f.Current) {
		if problem, hint := fam.judge(); problem != "" {
			return problem, hint
		}
	}
	return "", ""
}

// wanted is one family as it would be after the change: what spec leaves out is taken from the node.
type wanted struct{ name, address, network, gateway string }

func wantedFamilies(spec lcav1.IPConfigSpec, now Current) (out []wanted) {
	if spec.IPv4 != nil {
		out = append(out, fill("ipv4", spec.IPv4.Address, spec.IPv4.MachineNetwork, spec.IPv4.Gateway, now.IPv4))
	}
	if spec.IPv6 != nil {
		out = append(out, fill("ipv6", spec.IPv6.Address, spec.IPv6.MachineNetwork, spec.IPv6.Gateway, now.IPv6))
	}
	return out
}

func fill(name, address, network, gateway string, now *lcav1.IPStatus) wanted {
	w := wanted{name, address, network, gateway}
	if now != nil {
		if w.network == "" {
			w.network = now.MachineNetwork
		}
		if w.gateway == "" {
			w.gateway = now.Gateway
		}
	}
	return w
}

func (w wanted) judge() (string, string) {
	addr, err := netip.ParseAddr(w.address)
	if err != nil || addr.Is4() != (w.name == "ipv4") {
		return fmt.Sprintf("spec.%s.address %q is not an address of that family", w.name, w.address), "correct it"
	}
	network, err := netip.ParsePrefix(w.network)
	if err != nil {
		return fmt.Sprintf("the machine network of %s (%q) is not known", w.address, w.network), "set spec." + w.name + ".machineNetwork"
	}
	switch {
	case !network.Contains(addr):
		return fmt.Sprintf("spec.%s.address %s is outside its machine network %s", w.name, addr, network),
			"set spec." + w.name + ".machineNetwork to the network of the new address, or choose an address inside it"
	case addr.Is4() && network.Bits() < 31 && (addr == network.Masked().Addr() || addr == broadcast(network)):
		return fmt.Sprintf("spec.%s.address %s is the network or broadcast address of %s", w.name, addr, network), "choose a host address"
	}
	return w.judgeGateway(addr, network)
}

func (w wanted) judgeGateway(addr netip.Addr, network netip.Prefix) (string, string) {
	if w.gateway == "" {
		return fmt.Sprintf("the node would have no default gateway for %s", addr), "set spec." + w.name + ".gateway"
	}
	gw, err := netip.ParseAddr(w.gateway)
	switch {
	case err != nil || gw.Is4() != addr.Is4():
		return fmt.Sprintf("gateway %q of spec.%s is not an address of that family", w.gateway, w.name),
			"correct spec." + w.name + ".gateway"
	case gw == addr:
		return fmt.Sprintf("spec.%s.gateway is the node's own address %s", w.name, addr), "enter the router's address"
	case !network.Contains(gw) && !gw.IsLinkLocalUnicast():
		return fmt.Sprintf("gateway %s is not on the link: it is outside %s", gw, network),
			"set spec." + w.name + ".gateway to the router inside the new machine network"
	}
	return "", ""
}

func broadcast(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(b)
}

func checkOverlap(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	for _, w := range wantedFamilies(spec, f.Current) {
		network, err := netip.ParsePrefix(w.network)
		if err != nil {
			continue // checkAddresses says it
		}
		for _, inner := range slices.Concat(f.ClusterNetworks, f.ServiceNetworks) {
			if network.Overlaps(inner) {
				return fmt.Sprintf("machine network %s overlaps the cluster's inner network %s", network, inner),
					"choose a machine network that does not: the node could not tell the two apart"
			}
		}
	}
	return "", ""
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
	}
	return "", ""
}

func checkVLAN(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	changes := InSync(spec, f.Current)
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
	}
	return "", ""
}

func checkSetDefault(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if f.SetDefault == nil {
		return "", ""
	}
	return "the node cannot choose its next boot: " + f.SetDefault.Error(), "update ostree to a version with 'ostree admin set-default'"
}

func checkUplink(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if f.Current.Uplink != "" {
		return "", ""
	}
	return "no single uplink interface is attached to br-ex",
		"the change supports one network card, without bond; check 'ovs-vsctl list-ports br-ex'"
}

func checkOwnState(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if f.State == nil {
		return "", ""
	}
	return f.State.Error(), "the old and the new system would share it and there would be no way back; move it into the stateroot"
}

func checkDisk(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	switch {
	case f.FreeBytes < f.NeedBytes:
		return fmt.Sprintf("the second stateroot needs %d MiB and %d MiB are free", f.NeedBytes>>20, f.FreeBytes>>20),
			fmt.Sprintf("free %d MiB below /sysroot", (f.NeedBytes-f.FreeBytes)>>20+1)
	case f.BootFreeBytes < f.BootNeedBytes:
		return fmt.Sprintf("a second kernel and initramfs need %d MiB and %d MiB are free in /boot",
				f.BootNeedBytes>>20, f.BootFreeBytes>>20),
			fmt.Sprintf("free %d MiB in /boot", (f.BootNeedBytes-f.BootFreeBytes)>>20+1)
	}
	return "", ""
}

func checkLeftovers(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if len(f.LeftoverStateroots) == 0 {
		return "", ""
	}
	return "stateroots of earlier changes are still there: " + strings.Join(f.LeftoverStateroots, ", "),
		"they are removed when the IPConfig becomes Idle"
}
