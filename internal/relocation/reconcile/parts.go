package reconcile

// Part is one part of a site's configuration in the cluster's objects.
type Part struct {
	// Name is a stored format: journals and the ledger hold it.
	Name string
	// Condition is its condition in the status of a ClusterRelocation.
	Condition string
	// Title is what a person reads while it is brought about.
	Title string

	changes func(*partContext) ([]Change, error)
}

// Parts lists all parts in the order in which they are brought about.
func Parts() []Part {
	return []Part{
		{"domain", "DomainReconciled", "Set domain, certificates and routes", domainChanges},
		{"pull-secret", "PullSecretReconciled", "Set the pull secret", pullSecretChanges},
		{"mirrors", "MirrorsReconciled", "Set the image mirrors", mirrorChanges},
		{"cluster-id", "ClusterIDReconciled", "Give the cluster its own ID", clusterIDChanges},
		{"trust", "TrustReconciled", "Trust the site's registries and authorities", trustChanges},
		{"release-registry", "ReleaseRegistryReconciled", "Set the registry of the release", releaseRegistryChanges},
		{"ssh-keys", "SSHKeysReconciled", "Set the SSH keys", sshKeyChanges},
		{"catalogs", "CatalogsReconciled", "Set the catalogs of operators", catalogChanges},
		{"time", "TimeReconciled", "Set the time servers", timeServerChanges},
		{"proxy", "ProxyReconciled", "Set the proxy", proxyChanges},
		{"node-labels", "NodeLabelsReconciled", "Label the node", nodeLabelChanges},
		{"manifests", "ManifestsReconciled", "Apply the site's manifests", manifestChanges},
		{hubPart, "HubReconciled", "Register the cluster with its hub", hubChanges},
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
