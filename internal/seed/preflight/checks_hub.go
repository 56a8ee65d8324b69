package preflight

import (
	"fmt"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

func checkHubReachable(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	switch {
	case f.HubProblem != "":
		return finding{problem: "key hubKubeconfig of Secret seedgen cannot be used: " + f.HubProblem,
			hint: "correct it, or remove the key and detach the cluster by hand"}
	case f.HubUnreachable != "":
		return finding{problem: "the hub does not answer: " + f.HubUnreachable,
			hint: "make it reachable from the node, or remove the key hubKubeconfig and detach the cluster by hand"}
	}
	return finding{}
}

func checkDetached(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if f.HubGiven || !f.Cluster.KlusterletServed {
		return finding{}
	}
	return finding{problem: "Cluster must be detached from hub prior to seed generation: CustomResourceDefinition " +
		"klusterlets.operator.open-cluster-management.io exists",
		hint: "detach the cluster on the hub (and drop its site-config from GitOps), or add hubKubeconfig to Secret seedgen; of a " +
			"cluster that no hub manages any more, delete the definition"}
}

func checkIdentity(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if !f.HubGiven || f.HubProblem != "" || f.HubUnreachable != "" {
		return finding{}
	}
	switch {
	case f.Hub.Managed && f.Hub.ID != "" && f.Cluster.ID != "" && f.Hub.ID != f.Cluster.ID:
		return finding{problem: fmt.Sprintf("ManagedCluster %s on the hub %s is another cluster: its id is %s, this one's is %s",
			f.Hub.Cluster, f.Hub.Server, f.Hub.ID, f.Cluster.ID),
			hint: "give the kubeconfig of the hub that manages this cluster"}
	case !f.Hub.Managed && len(f.Cluster.Klusterlets) > 0:
		return finding{problem: fmt.Sprintf("the cluster has a klusterlet, but the hub %s has no ManagedCluster %s",
			f.Hub.Server, f.Hub.Cluster),
			hint: "give the kubeconfig of the hub that manages this cluster, or delete what an earlier hub left: " +
				"'oc delete klusterlet --all'"}
	case f.Hub.Managed:
		return finding{recorded: fmt.Sprintf("ManagedCluster %s on %s", f.Hub.Cluster, f.Hub.Server)}
	}
	return finding{recorded: "the hub does not manage the cluster"}
}

func checkOwner(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if len(f.Hub.Owners) == 0 {
		return finding{}
	}
	return finding{problem: fmt.Sprintf("ManagedCluster %s belongs to %s, which would create it again and import the cluster "+
		"while the image is made", f.Hub.Cluster, strings.Join(f.Hub.Owners, ", ")),
		hint: "drop the site-config from GitOps and let it prune the cluster, then remove hubKubeconfig from Secret seedgen"}
}

func checkAddons(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	found := append([]string{}, f.Cluster.AddonNamespaces...)
	for _, a := range f.Hub.Addons {
		found = append(found, "ManagedClusterAddOn "+a)
	}
	return findingOfNames("addons of the hub are on the cluster", found, "disable them on the hub; a seed's hub has no extra addons")
}
