package seed

// PlaceholderPullSecret takes the place of the cluster's pull secret in an image.
const PlaceholderPullSecret = `{"auths":{"registry.invalid":{"auth":"cGxhY2Vob2xkZXI6cGxhY2Vob2xkZXI="}}}`

// Shipped lists the objects that no image has: they belong to the seed's own administration, or to its hub. They are
// removed from the copy, never from the cluster.
func Shipped() []Object {
	const lca, operator = "lca.openshift.io", "openshift-lifecycle-agent"
	const hub, agent = "*.open-cluster-management.io", "open-cluster-management-agent*"
	return []Object{
		{Group: lca, Resource: "seedgenerators"},
		{Group: lca, Resource: "ipconfigs"},
		{Group: lca, Resource: "imagebasedupgrades"},
		{Resource: "secrets", Namespace: operator, Name: "seedgen"},
		{Resource: "secrets", Namespace: "kube-system", Name: "bootstrap-token-*"},
		{Resource: "secrets", Namespace: "openshift-monitoring", Name: "observability-alertmanager-accessor"},
		{Group: hub, Resource: "*"},
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: hub},
		{Resource: "*", Namespace: agent},
		{Resource: "namespaces", Name: agent},
		{Resource: "*", Namespace: "assisted-installer"},
		{Resource: "namespaces", Name: "assisted-installer"},
		{Resource: "clusterroles", Name: "klusterlet"},
		{Resource: "clusterroles", Name: "klusterlet-bootstrap-kubeconfig"},
		{Resource: "clusterroles", Name: "open-cluster-management:klusterlet-admin-aggregate-clusterrole"},
		{Resource: "clusterrolebindings", Name: "klusterlet"},
	}
}
