package siteconfig

import "encoding/json"

// ImageMirror says where images of a repository may be pulled from instead.
type ImageMirror struct {
	// Source is a repository without tag or digest; *.example.org stands for all hosts of a domain.
	Source string `json:"source"`
	// Mirrors are tried in order.
	Mirrors []string `json:"mirrors"`
	// MirrorSourcePolicy is AllowContactingSource, the default, or NeverContactSource.
	MirrorSourcePolicy string `json:"mirrorSourcePolicy,omitempty"`
}

// RegistryCA is the authority of a registry.
type RegistryCA struct {
	Hostname string `json:"hostname"`
	// Port is 1-65535; 0 stands for 443, the port that an image name leaves out.
	Port int `json:"port,omitempty"`
	// Certificate is PEM, one or more.
	Certificate string `json:"certificate"`
}

// CatalogSource is a catalog of operators, served by an image.
type CatalogSource struct {
	Name        string `json:"name"`
	Image       string `json:"image"`
	DisplayName string `json:"displayName,omitempty"`
	Publisher   string `json:"publisher,omitempty"`
}

// Trust is what the node trusts beside what it is installed with.
type Trust struct {
	// UserCABundle is PEM; it becomes the ConfigMap user-ca-bundle.
	UserCABundle string `json:"userCABundle,omitempty"`
	// ProxyConfigMapName names the ConfigMap that the Proxy trusts, with ProxyConfigMapBundle as its content.
	ProxyConfigMapName   string `json:"proxyConfigMapName,omitempty"`
	ProxyConfigMapBundle string `json:"proxyConfigMapBundle,omitempty"`
}

// Certificates are of one's own. Where there is none, the node makes one for the site's domain.
type Certificates struct {
	API     *Certificate `json:"api,omitempty"`
	Ingress *Certificate `json:"ingress,omitempty"`
}

// Certificate is a chain with its key, or the TLS Secret of the cluster that holds both.
type Certificate struct {
	// Certificate is PEM, the leaf first.
	Certificate string     `json:"certificate,omitempty"`
	Key         Secret     `json:"key,omitempty"`
	SecretRef   *SecretRef `json:"secretRef,omitempty"`
}

// SecretRef names a Secret that the cluster already has.
type SecretRef struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Hub is the cluster that manages this one. Either the node registers itself, with URL and Token or SecretRef, or
// somebody has already taken its import manifests from the hub.
type Hub struct {
	URL string `json:"url,omitempty"`
	// CABundle is what the hub's certificate is verified against; without it the node's own trust is.
	CABundle string `json:"caBundle,omitempty"`
	// ClusterName is the ManagedCluster's; without it the cluster's own name.
	ClusterName       string `json:"clusterName,omitempty"`
	ManagedClusterSet string `json:"managedClusterSet,omitempty"`
	// Token is the bearer token by which the node creates its ManagedCluster.
	Token     Secret     `json:"token,omitempty"`
	SecretRef *SecretRef `json:"secretRef,omitempty"`
	// KlusterletAddonConfig is the spec of the object of that kind.
	KlusterletAddonConfig json.RawMessage `json:"klusterletAddonConfig,omitempty"`
	// ImportManifests are crds.yaml and import.yaml of the hub's import Secret, object by object.
	ImportManifests []json.RawMessage `json:"importManifests,omitempty"`
}

// Handover says which credentials the hand-over file holds; both where nothing is said.
type Handover struct {
	Kubeconfig        *bool `json:"kubeconfig,omitempty"`
	KubeadminPassword *bool `json:"kubeadminPassword,omitempty"`
}

// Identity is what a cluster keeps that is installed again under the same name. All of it comes from the cluster
// that was there before.
type Identity struct {
	ClusterID string `json:"clusterID,omitempty"`
	InfraID   string `json:"infraID,omitempty"`
	// KubeadminPasswordHash is a bcrypt hash.
	KubeadminPasswordHash Secret           `json:"kubeadminPasswordHash,omitempty"`
	InstallConfig         Secret           `json:"installConfig,omitempty"`
	CryptoRetention       *CryptoRetention `json:"cryptoRetention,omitempty"`
}

// CryptoRetention are the keys and certificates that existing kubeconfig files rely on, all PEM.
type CryptoRetention struct {
	LocalhostSignerKey      Secret `json:"localhostSignerKey,omitempty"`
	ServiceNetworkSignerKey Secret `json:"serviceNetworkSignerKey,omitempty"`
	LoadBalancerSignerKey   Secret `json:"loadBalancerSignerKey,omitempty"`
	AdminCACertificate      string `json:"adminCACertificate,omitempty"`
	IngressCAKey            Secret `json:"ingressCAKey,omitempty"`
	IngressCertificateCN    string `json:"ingressCertificateCN,omitempty"`
}
