package preflight

import (
	"fmt"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

func checkSetDefault(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if f.SetDefault == nil {
		return finding{}
	}
	return finding{problem: "the node cannot choose its next boot: " + f.SetDefault.Error(),
		hint: "install a release whose ostree has 'admin set-default', and reboot into a staged update"}
}

func checkContainerStorage(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	const hint = "install the seed with a partition for /var/lib/containers (MachineConfig 98-var-lib-containers-partitioned)"
	switch {
	case f.ContainerStorage == "":
		return finding{problem: "/var/lib/containers is no mount of its own", hint: hint}
	case f.ContainerStorageOwn:
		return finding{problem: "/var/lib/containers is mounted from inside the stateroot, which no other stateroot shares", hint: hint}
	}
	return finding{recorded: "mounted from " + f.ContainerStorage}
}

// Files with which a node changes the names that dnsmasq serves.
const (
	dnsmasqScript    = "/usr/local/bin/dnsmasq_config.sh"
	dnsmasqOverrides = "sno_dnsmasq_configuration_overrides"
)

func checkDnsmasq(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	const hint = "apply what 'lca-cli dnsmasq machineconfig --name NAME --domain DOMAIN --ip ADDRESS' prints"
	if f.DnsmasqScript == "" {
		return finding{problem: dnsmasqScript + " does not exist", hint: hint}
	}
	for _, word := range []string{
		dnsmasqOverrides, "SNO_CLUSTER_NAME_OVERRIDE", "SNO_BASE_DOMAIN_OVERRIDE", "SNO_DNSMASQ_IP_OVERRIDE",
	} {
		if !strings.Contains(f.DnsmasqScript, word) {
			return finding{problem: fmt.Sprintf("%s does not read %s, so a node cannot serve another name, domain or address",
				dnsmasqScript, word), hint: hint}
		}
	}
	return finding{}
}

// Placeholder is what the field's agent puts in the place of the cluster's pull secret while it makes an image.
const Placeholder = `{"auths":{"registry.connect.redhat.com":{"username":"empty","password":"empty","auth":"ZW1wdHk6ZW1wdHk=","email":""}}}`

func checkPullSecret(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if have := strings.TrimSpace(string(f.PullSecret)); have != Placeholder && have != seed.PlaceholderPullSecret {
		return finding{}
	}
	return finding{problem: "the cluster's pull secret is the placeholder that an earlier generation left behind",
		hint: "restore Secret openshift-config/pull-secret, and wait until the machine config pool is updated"}
}

func checkDisk(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	const mib = 1 << 20
	lacking := seed.RoomLacking(f.Need, f.Free)
	if lacking == "" {
		return finding{recorded: fmt.Sprintf("%d MiB needed, %d MiB free in /var/lib/lca", f.Need.Bytes/mib, f.Free.Bytes/mib)}
	}
	return finding{problem: lacking,
		hint: "remove what is not needed below /var, such as other stateroots ('lca-cli stateroot remove')"}
}

func checkFIPS(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if f.FIPS != f.Cluster.FIPS {
		return finding{problem: fmt.Sprintf("FIPS is %s in the install-config and %s in the kernel", onOff(f.Cluster.FIPS), onOff(f.FIPS)),
			hint: "install the seed as the targets are to be: FIPS cannot be changed later"}
	}
	return finding{recorded: "FIPS is " + onOff(f.FIPS) + ", as it has to be on the targets"}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func checkCPUs(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if f.CPUs == 0 {
		return finding{problem: "the CPUs of the machine are not known", hint: "compare them with those of the targets by hand"}
	}
	text := fmt.Sprintf("%d CPUs, %d cores, %d sockets", f.CPUs, f.Cores, f.Sockets)
	if f.Cluster.ReservedCPUs != "" {
		text += "; reserved " + f.Cluster.ReservedCPUs
	}
	return finding{recorded: text + ", as it has to be on the targets"}
}

func checkBusy(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	busy := f.Cluster.Busy
	if busy == "" {
		busy = f.NodeBusy
	}
	if busy == "" {
		return finding{}
	}
	return finding{problem: "another operation is under way: " + busy,
		hint: "finish it and return it to Idle, then annotate the SeedGenerator with " + lcav1.TriggerReconcileAnnotation}
}
