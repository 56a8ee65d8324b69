package preflight

import (
	"errors"
	"slices"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// Check is one question asked before a change.
type Check struct {
	Name     string
	Severity lcav1.PreflightSeverity
	// Fails says, for the documentation, when it does.
	Fails string
	// find returns the problem and what to do about it, or nothing.
	find func(lcav1.IPConfigSpec, Facts) (problem, hint string)
}

// Names of checks that others refer to.
const (
	CheckAddressInUse  = "address-in-use"
	CheckDiskSpace     = "disk-space"
	CheckDiskInodes    = "disk-inodes"
	CheckCertificates  = "certificate-expiry"
	CheckProxy         = "proxy"
	CheckDnsmasq       = "dnsmasq-machineconfig"
	CheckSingleNode    = "single-node"
	CheckOverlap       = "overlap"
	CheckFirstBoot     = "first-boot"
	CheckDNSKept       = "dns-servers-kept"
	CheckMachineConfig = "machineconfig-files"
	CheckRecertPlan    = "recert-plan"
	CheckWatchdogTime  = "watchdog-time"
	CheckPrefixKnown   = "prefix-length-known"
	CheckPrefix        = "prefix-length"
	CheckKernelStuck   = "kernel-network"
	CheckKernelMoved   = "kernel-network-moved"
	CheckLinks         = "links"
	CheckUnits         = "units"
	CheckClock         = "clock"
	CheckOneTimeBoot   = "one-time-boot"
)

// Checks is every check, in the order in which a person would ask. The table in the documentation is
// made from it.
func Checks() []Check { return slices.Concat(blockingChecks(), warningChecks()) }

// blockingChecks refuse the change.
func blockingChecks() []Check {
	const blocking = lcav1.PreflightBlocking
	return []Check{
		{CheckSingleNode, blocking, "there is not exactly one control plane node, or there are workers beside it", checkSingleNode},
		{"static-network", blocking, "`br-ex` gets addresses by DHCP or autoconfiguration", checkStatic},
		{CheckDnsmasq, blocking, "MachineConfig `50-master-dnsmasq-configuration` does not exist", checkDnsmasq},
		{"recert-engine", blocking, "annotation `lca.openshift.io/recert-image` names no pull specification (`registry/path:tag`); " +
			"or the node has no etcd of the cluster to rewrite", checkEngine},
		{CheckRecertPlan, blocking, "recert's native engine is used, and the cluster encrypts values in etcd (APIServer `cluster`), " +
			"or recert's forecast finds that it cannot rewrite the cluster; `lca-cli ip-config plan` makes " +
			"the forecast, and `collect-inputs` before anything is made or stopped",
			checkRecertPlan},
		{"families", blocking, "the spec names no address, or one of a family the node does not have", checkFamilies},
		{"coupling", blocking, "gateway, machine network or DNS servers change without an address", checkCoupling},
		{"addresses", blocking, "address outside its machine network, network or broadcast address, or one that no host has: " +
			"unspecified, loopback, multicast, link-local, IPv4-mapped, in `0.0.0.0/8` or `240.0.0.0/4`", checkAddresses},
		{CheckPrefixKnown, blocking, "the spec names no machine network, and the card's prefix length is not known: the node's address " +
			"is not on `br-ex`", checkPrefixKnown},
		{"gateway-on-link", blocking, "no gateway, or one outside the network on the link (link-local IPv6 is on the link)",
			checkGatewayOnLink},
		{"gateway-not-self", blocking, "the gateway is an address of the node itself, before the change or after it", checkGatewayNotSelf},
		{CheckOverlap, blocking, "the machine network overlaps one for pods, for services, or of OVN's own (join, transit, masquerade)",
			checkOverlap},
		{"dns-servers", blocking, "not an address, or one that no host has; of a family the node does not have; an address of the " +
			"node itself, before the change or after it; or one in a network for pods, for services, or of OVN's own", checkDNS},
		{"vlan", blocking, "the VLAN changes without an address", checkVLAN},
		{"dns-filter", blocking, "a filter on a node that is not dual-stack", checkFilter},
		{"boot-entry", blocking, "ostree has no `admin set-default`, or an operating system update is staged", checkSetDefault},
		{"uplink", blocking, "not exactly one uplink interface on `br-ex`, or one that is neither a network card nor a bond, with or " +
			"without a VLAN", checkUplink},
		{"own-state", blocking, "`/var`, `/var/lib/etcd`, `/var/lib/kubelet` or `/var/lib/lca` is a file system of its own, " +
			"which both systems would share", checkOwnState},
		{CheckMachineConfig, blocking, "the node's MachineConfig owns a file that the change writes: the uplink's NetworkManager " +
			"profile, `/etc/default/sno_dnsmasq_configuration_overrides`, `/etc/dnsmasq.d/single-node-filter.conf` if the DNS filter " +
			"changes, or a unit of the product. `Unknown`: the node has no `/etc/machine-config-daemon/currentconfig`, so nothing " +
			"owns files", checkMachineConfig},
		{"nmstate-bridge", blocking, "nmstate makes `br-ex` on this node: `/etc/nmstate/openshift/applied` exists", checkNMStateBridge},
		{"default-bridge", blocking, "`/etc/ovnk/default_bridge` names another bridge than `br-ex`", checkDefaultBridge},
		{"default-route", blocking, "another interface than `br-ex` has a default route of a family that changes, with a metric up to 48" +
			"; or the uplink keeps one over another router, with such a metric", checkDefaultRoute},
		{"routes", blocking, "a route leads the new network on the link, or a part of it, over another interface or a next hop",
			checkRoutes},
		{CheckUnits, blocking, "`kubelet.service` or `NetworkManager.service` does not exist on the node, or one of them, `crio.service` " +
			"or `ovs-configuration.service` is masked in `/etc`, which the new system gets a copy of", checkUnits},
		{CheckClock, blocking, "the node's clock is before the time from which a certificate of its kubelet or API server is valid",
			checkClock},
		{CheckFirstBoot, blocking, "the boot loader entry of the running system has kernel argument `ignition.firstboot`", checkFirstBoot},
		{CheckKernelStuck, blocking, "the initramfs needs a network (`rd.neednet=1`, `rd.luks.options=_netdev`), and an `ip=`, " +
			"`nameserver=` or `rd.route=` of the old network cannot be moved: its gateway is not the node's, it has a peer, " +
			"the VLAN changes, or a MachineConfig owns it", checkKernelStuck},
		{CheckLinks, blocking, "the kernel cannot make a link of the new network: a VLAN without the module `8021q`; asked late, and " +
			"again by `collect-inputs`", checkLinks},
		{CheckDiskSpace, blocking, "the second stateroot, or its kernel and initramfs in `/boot`, does not fit; measured late, " +
			"and again by `collect-inputs` before anything is made", checkDisk},
		{CheckDiskInodes, blocking, "the file system has too few inodes left for the files of a second stateroot", checkInodes},
		{CheckAddressInUse, blocking, "another machine on the link answers for the new address (ARP, neighbour discovery). " +
			"`Unknown` where a router answers for every address (proxy ARP), or the address is for a VLAN that is not up", checkInUse},
	}
}

// warningChecks are told, and the change goes on.
func warningChecks() []Check {
	const warning = lcav1.PreflightWarning
	return []Check{
		{"leftover-stateroots", warning, "stateroots of earlier changes are still there", checkLeftovers},
		{CheckCertificates, warning, "a certificate of kubelet or API server expires within 3 days: going back after that needs " +
			"work by hand", checkExpiry},
		{"other-default-routes", warning, "the same as `default-route`, with a metric above 48", checkOtherDefaults},
		{"uplink-extras", warning, "an address or a static route of the uplink has no place on the new network: the address is of the " +
			"network that the node leaves, the route's next hop on none that it has afterwards", checkLeft},
		{CheckOneTimeBoot, warning, "the boot loader cannot start the new system for one boot only: a new system that hangs or panics " +
			"while it boots is started again at each boot", checkOneTimeBoot},
		{CheckDNSKept, warning, "the machine network changes, and the spec leaves the DNS servers as they are", checkDNSKept},
		{CheckPrefix, warning, "the card's prefix length, which the address keeps, is not the machine network's; or the address gets " +
			"that of the spec's new machine network", checkPrefix},
		{CheckKernelMoved, warning, "kernel arguments of the old network are moved for the new boot entry, or stay there",
			checkKernelMoved},
		{CheckWatchdogTime, warning, "`initMonitorTimeoutSeconds` is set, and below the 600 seconds that a node needs, probes included",
			checkWatchdogTime},
		{CheckProxy, warning, "the cluster's proxy settings name an address or network that the change takes away", checkProxy},
	}
}

// Validate judges a requested change against the facts, before anything is touched. It
// returns every check it made, passed or not; Refusal turns them into one error.
func Validate(spec lcav1.IPConfigSpec, f Facts) []lcav1.PreflightCheck {
	var checks []lcav1.PreflightCheck
	for _, c := range Checks() {
		checks = append(checks, c.evaluate(spec, f))
	}
	return checks
}

func (c Check) evaluate(spec lcav1.IPConfigSpec, f Facts) lcav1.PreflightCheck {
	out := lcav1.PreflightCheck{Name: c.Name, Severity: c.Severity, Result: lcav1.PreflightPassed}
	if problem, hint := c.find(spec, f); problem != "" {
		out.Result, out.Message, out.Hint = lcav1.PreflightFailed, problem, hint
	} else if why, unknown := f.Unknown[c.Name]; unknown {
		out.Result, out.Message = lcav1.PreflightUnknown, why
	}
	return out
}

// Refusal is the error that the failed blocking checks amount to; nil when there are none.
func Refusal(checks []lcav1.PreflightCheck) error {
	var found []string
	for _, c := range checks {
		if c.Result == lcav1.PreflightFailed && c.Severity == lcav1.PreflightBlocking {
			found = append(found, strings.TrimSuffix(c.Message, ".")+": "+c.Hint)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return errors.New(strings.Join(found, "; "))
}
