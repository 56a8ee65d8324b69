package siteconfig

// ClusterDomain is the domain that the cluster is reached by: Domain, else name.base; empty where the factory's stays.
func (c SiteConfig) ClusterDomain() string {
	switch {
	case c.Domain != "":
		return c.Domain
	case c.ClusterName != "" && c.BaseDomain != "":
		return c.ClusterName + "." + c.BaseDomain
	}
	return ""
}

// Includes says which credentials are handed over.
func (h *Handover) Includes() (kubeconfig, kubeadminPassword bool) {
	if h == nil {
		return true, true
	}
	return h.Kubeconfig == nil || *h.Kubeconfig, h.KubeadminPassword == nil || *h.KubeadminPassword
}
