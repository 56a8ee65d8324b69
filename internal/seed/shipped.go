package seed

// Shipped lists the objects that no image has: they belong to the seed's own administration, or name the hub. They are
// removed from the copy, never from the cluster.
func Shipped() []Object {
	const lca, operator = "lca.openshift.io", "openshift-lifecycle-agent"
	return []Object{
		{Group: lca, Resource: "seedgenerators"},
		{Group: lca, Resource: "ipconfigs"},
		{Group: lca, Resource: "imagebasedupgrades"},
		{Resource: "secrets", Namespace: operator, Name: "seedgen"},
		{Resource: "secrets", Namespace: "openshift-monitoring", Name: "observability-alertmanager-accessor"},
		{Resource: "secrets", Namespace: "kube-system", Name: "kubeadmin"},
	}
}
