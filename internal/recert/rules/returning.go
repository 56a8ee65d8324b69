package rules

import "strings"

// Returning names objects by which something else configures an old address again once the cluster runs. They are an administrator's own
// wishes, so they are not changed; a plan warns of them.
type Returning struct {
	// Keys matches the object's key below the storage prefix (path.Match).
	Keys string
	// Why says who brings the address back.
	Why string
}

const machineConfigs = "machineconfiguration.openshift.io/machineconfigs/"

func returningRules() []Returning {
	return []Returning{
		{"nmstate.io/nodenetworkconfigurationpolicies/*", "nmstate applies it to the node again"},
		{"metal3.io/baremetalhosts/*/*", "metal3 may configure the host with it again"},
		{"k8s.ovn.org/egressips/*", "OVN assigns it to the node as an egress address"},
		{"metallb.io/ipaddresspools/*/*", "MetalLB allocates it to Services"},
		{"metallb.io/addresspools/*/*", "MetalLB allocates it to Services"},
		{machineConfigs + "*", "the machine-config operator writes it to the node again"},
	}
}

// ReturnsAddress says why an object brings an address back that it mentions; empty is one that does not. Rendered MachineConfigs follow
// from the others, and the change of addresses overrides that of dnsmasq.
func ReturnsAddress(key string) string {
	name := strings.TrimPrefix(key, StoragePrefix)
	if config, ok := strings.CutPrefix(name, machineConfigs); ok &&
		(strings.HasPrefix(config, "rendered-") || config == "50-master-dnsmasq-configuration") {
		return ""
	}
	for _, r := range returningRules() {
		if MatchKey(r.Keys, name) {
			return r.Why
		}
	}
	return ""
}

// ReturningPrefixes are where such objects are, except for those that the rulebook reads anyway.
func (r Rulebook) ReturningPrefixes() (out []string) {
	read := r.Prefixes()
	for _, found := range returningRules() {
		if prefix := StorageKey(literalPrefix(found.Keys)); !hasPrefixOf(prefix, read) {
			out = append(out, prefix)
		}
	}
	return out
}

func hasPrefixOf(key string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}
