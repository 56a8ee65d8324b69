package preflight

import (
	"fmt"
	"strconv"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

func checkSingleNode(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if f.Cluster.ControlPlaneNodes == 1 && f.Cluster.OtherNodes == 0 {
		return finding{}
	}
	return finding{problem: fmt.Sprintf("the cluster has %d control plane nodes and %d other nodes",
		f.Cluster.ControlPlaneNodes, f.Cluster.OtherNodes),
		hint: "a seed image is made of a single-node cluster without workers"}
}

func checkEncryption(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if f.Cluster.Encryption == "" {
		return finding{}
	}
	return finding{problem: fmt.Sprintf("the cluster encrypts values in etcd (%s), which a node that restores the image could not read",
		f.Cluster.Encryption),
		hint: "set spec.encryption.type of APIServer cluster to identity, wait until decryption has completed, and encrypt again after " +
			"the image is made"}
}

// findingOfNames lists objects that must not be there.
func findingOfNames(what string, names []string, hint string) finding {
	if len(names) == 0 {
		return finding{}
	}
	shown := strings.Join(names[:min(len(names), 5)], ", ")
	if more := len(names) - 5; more > 0 {
		shown += " and " + strconv.Itoa(more) + " more"
	}
	return finding{problem: what + ": " + shown, hint: hint}
}

func checkVolumes(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	return findingOfNames("the cluster has PersistentVolumes, whose data would be in no image", f.Cluster.PersistentVolumes,
		"delete the claims, and the volumes where their reclaim policy keeps them")
}

func checkLocalVolumes(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	return findingOfNames("the Local Storage Operator has LocalVolumes, which name disks of this machine", f.Cluster.LocalVolumes,
		"delete them")
}

func checkLVM(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	return findingOfNames("LVM Storage has LVMClusters, which name disks of this machine", f.Cluster.LVMClusters, "delete them")
}

func checkNetworkPolicies(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	return findingOfNames("the image carries network policies, which nodes apply that are restored from it", f.Cluster.NetworkPolicies,
		"delete those with an address of this node, or that name its interfaces, before you ask for the image")
}

func checkOADPConfigured(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	return findingOfNames("OADP has DataProtectionApplications", f.Cluster.OADP.Applications,
		"delete them; each node gets its own when it is upgraded")
}

func checkOADPInstalled(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if f.Cluster.OADP.Name != "" {
		return finding{recorded: f.Cluster.OADP.Name}
	}
	return finding{problem: "OADP is not installed",
		hint: "install it if nodes are to be upgraded with the image; a node that is installed from it does not need it"}
}

// minimumOADP is the oldest version with what an upgrade needs.
const minimumOADP = "1.3.1"

func checkOADPVersion(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if f.Cluster.OADP.Name == "" || !isOlder(f.Cluster.OADP.Version, minimumOADP) {
		return finding{}
	}
	return finding{problem: fmt.Sprintf("OADP %s is older than %s", f.Cluster.OADP.Version, minimumOADP), hint: "upgrade it"}
}

// isOlder compares versions of the form 1.2.3; what follows a '-' or '+' does not count. One that cannot be read is not older.
func isOlder(a, b string) bool {
	parse := func(text string) (parts [3]int, ok bool) {
		text, _, _ = strings.Cut(text, "-")
		text, _, _ = strings.Cut(text, "+")
		for i, word := range strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3) {
			n, err := strconv.Atoi(word)
			if err != nil {
				return parts, false
			}
			parts[i] = n
		}
		return parts, true
	}
	x, known := parse(a)
	y, _ := parse(b)
	for i := range x {
		if x[i] != y[i] {
			return known && x[i] < y[i]
		}
	}
	return false
}
