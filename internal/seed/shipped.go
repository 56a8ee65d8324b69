package seed

// PlaceholderPullSecret takes the place of the cluster's pull secret in an image.
const PlaceholderPullSecret = `{"auths":{"registry.invalid":{"auth":"cGxhY2Vob2xkZXI6cGxhY2Vob2xkZXI="}}}`

// Shipped lists the objects that no image has: they belong to the seed's own administration, or to its hub. They are
// removed from the copy, never from the cluster.
func Shipped() []Object {
	const lca, operator = "lca.openshift.io", "openshift-lifecycle-agent"
	const hub, agent = "*.open-cluster-management.io", "open-cluster-management-agent*"
	return append(append(sessionObjects(), ofTheSeedsPlace()...), []Object{
		{Group: lca, Resource: "seedgenerators"},
		{Group: lca, Resource: "ipconfigs"},
		{Group: lca, Resource: "imagebasedupgrades"},
		{Resource: "secrets", Namespace: operator, Name: "seedgen"},
		{Resource: "secrets", Namespace: operator, Name: "seedgen-signing"},
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
	}...)
}

// sessionObjects are who is logged in, and the random secrets that logins are protected with: their operators make others. Events and
// requests for certificates are about the seed's past.
func sessionObjects() []Object {
	const oauth = "oauth.openshift.io"
	return []Object{
		{Group: oauth, Resource: "oauthaccesstokens"},
		{Group: oauth, Resource: "oauthauthorizetokens"},
		{Group: oauth, Resource: "oauthclients", Name: "console"},
		{Group: oauth, Resource: "oauthclients", Name: "openshift-*"},
		{Resource: "secrets", Namespace: "openshift-authentication", Name: "v4-0-config-system-session"},
		{Resource: "secrets", Namespace: "openshift-console", Name: "console-oauth-config"},
		{Resource: "secrets", Namespace: "openshift-ingress", Name: "router-stats-default"},
		{Resource: "secrets", Namespace: "openshift-image-registry", Name: "image-registry-private-configuration"},
		{Resource: "secrets", Namespace: "openshift-monitoring", Name: "telemeter-client"},
		{Resource: "secrets", Namespace: "openshift-monitoring", Name: "*-proxy"},
		{Resource: "secrets", Namespace: "openshift-monitoring", Name: "*-oauth-cookie"},
		{Resource: "secrets", Namespace: "openshift-machine-api", Name: "metal3-*-password"},
		{Resource: "leases"},
		{Resource: "masterleases"},
		{Resource: "events"},
		{Resource: "certificatesigningrequests"},
	}
}

// ofTheSeedsPlace are what says where the seed is, and what its node's network is: the agent of a restored cluster would give it the
// seed's name and domain again, and take the state of a node that it does not have for that of its own.
func ofTheSeedsPlace() []Object {
	const nmstate = "nmstate.io"
	return []Object{
		{Group: "rhsyseng.github.io", Resource: "clusterrelocations"},
		{Group: nmstate, Resource: "nodenetworkstates"},
		{Group: nmstate, Resource: "nodenetworkconfigurationenactments"},
	}
}
