package reconcile

// Part is one part of a site's configuration in the cluster's objects.
type Part struct {
	// Name is a stored format: journals and the ledger hold it.
	Name string
	// Condition is its condition in the status of a ClusterRelocation.
	Condition string
	// Title is what a person reads while it is brought about.
	Title string

	changes func(*view) ([]Change, error)
}

// Parts lists all parts in the order in which they are brought about.
func Parts() []Part {
	return []Part{
		{"domain", "DomainReconciled", "Set domain, certificates and routes", domain},
		{"pull-secret", "PullSecretReconciled", "Set the pull secret", pullSecret},
		{"mirrors", "MirrorsReconciled", "Set the image mirrors", mirrors},
		{"cluster-id", "ClusterIDReconciled", "Give the cluster its own ID", clusterID},
		{"trust", "TrustReconciled", "Trust the site's registries and authorities", trust},
		{"release-registry", "ReleaseRegistryReconciled", "Set the registry of the release", releaseRegistry},
		{"ssh-keys", "SSHKeysReconciled", "Set the SSH keys", sshKeys},
		{"catalogs", "CatalogsReconciled", "Set the catalogs of operators", catalogs},
		{"time", "TimeReconciled", "Set the time servers", timeServers},
		{"proxy", "ProxyReconciled", "Set the proxy", proxy},
		{"node-labels", "NodeLabelsReconciled", "Label the node", nodeLabels},
		{"manifests", "ManifestsReconciled", "Apply the site's manifests", manifests},
		{hubPart, "HubReconciled", "Register the cluster with its hub", hub},
	}
}

// Find returns the part of that name.
func Find(name string) (Part, bool) {
	for _, p := range Parts() {
		if p.Name == name {
			return p, true
		}
	}
	return Part{}, false
}
