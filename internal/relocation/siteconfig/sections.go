package siteconfig

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

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
	// Hostname is the registry's, without port.
	Hostname string `json:"hostname"`
	// Port is 1-65535; 0 stands for 443, the port that an image name leaves out.
	Port int `json:"port,omitempty"`
	// Certificate is PEM, one or more.
	Certificate string `json:"certificate"`
}

// CatalogSource is a catalog of operators, served by an image.
type CatalogSource struct {
	// Name is that of the CatalogSource.
	Name string `json:"name"`
	// Image serves the catalog.
	Image string `json:"image"`
	// DisplayName is shown to people.
	DisplayName string `json:"displayName,omitempty"`
	// Publisher is shown to people.
	Publisher string `json:"publisher,omitempty"`
}

// Trust is what the node trusts beside what it is installed with.
type Trust struct {
	// UserCABundle is PEM; it becomes the ConfigMap user-ca-bundle.
	UserCABundle string `json:"userCABundle,omitempty"`
	// ProxyConfigMapName names the ConfigMap that the Proxy trusts, with ProxyConfigMapBundle as its content.
	ProxyConfigMapName string `json:"proxyConfigMapName,omitempty"`
	// ProxyConfigMapBundle is PEM, the content of that ConfigMap.
	ProxyConfigMapBundle string `json:"proxyConfigMapBundle,omitempty"`
}

// Certificates are of one's own. Where there is none, the node makes one for the site's domain.
type Certificates struct {
	// API is for api.DOMAIN.
	API *Certificate `json:"api,omitempty"`
	// Ingress is for *.apps.DOMAIN.
	Ingress *Certificate `json:"ingress,omitempty"`
}

// Certificate is a chain with its key, or the TLS Secret of the cluster that holds both.
type Certificate struct {
	// Certificate is PEM, the leaf first.
	Certificate string `json:"certificate,omitempty"`
	// Key is the private key of the leaf, PEM.
	Key Secret `json:"key,omitempty"`
	// SecretRef names a TLS Secret instead.
	SecretRef *SecretRef `json:"secretRef,omitempty"`
}

// SecretRef names a Secret that the cluster already has.
type SecretRef struct {
	// Namespace may be left out where the field implies one.
	Namespace string `json:"namespace,omitempty"`
	// Name is that of the Secret.
	Name string `json:"name"`
}

// Hub is the cluster that manages this one. Either the node registers itself, with URL and Token or SecretRef, or
// somebody has already taken its import manifests from the hub.
type Hub struct {
	// URL is that of the hub's API; https.
	URL string `json:"url,omitempty"`
	// CABundle is what the hub's certificate is verified against; without it the node's own trust is.
	CABundle string `json:"caBundle,omitempty"`
	// ClusterName is the ManagedCluster's; without it the cluster's own name.
	ClusterName string `json:"clusterName,omitempty"`
	// ManagedClusterSet takes the cluster in.
	ManagedClusterSet string `json:"managedClusterSet,omitempty"`
	// Token is the bearer token by which the node creates its ManagedCluster.
	Token Secret `json:"token,omitempty"`
	// SecretRef names a Secret with the token instead.
	SecretRef *SecretRef `json:"secretRef,omitempty"`
	// KlusterletAddonConfig is the spec of the object of that kind.
	KlusterletAddonConfig json.RawMessage `json:"klusterletAddonConfig,omitempty"`
	// ImportManifests are crds.yaml and import.yaml of the hub's import Secret, object by object.
	ImportManifests []json.RawMessage `json:"importManifests,omitempty"`
}

// Handover says which credentials the hand-over file holds; both where nothing is said.
type Handover struct {
	// Kubeconfig is that of the administrator.
	Kubeconfig *bool `json:"kubeconfig,omitempty"`
	// KubeadminPassword is a new password of kubeadmin.
	KubeadminPassword *bool `json:"kubeadminPassword,omitempty"`
}

// Identity is what a cluster keeps that is installed again under the same name. All of it comes from the cluster
// that was there before.
type Identity struct {
	// ClusterID is a UUID. Without it a cluster that is restored from a seed image gets a new one, and any other keeps its own.
	ClusterID string `json:"clusterID,omitempty"`
	// InfraID is the infrastructure's name, at most 27 characters.
	InfraID string `json:"infraID,omitempty"`
	// KubeadminPasswordHash is a bcrypt hash.
	KubeadminPasswordHash Secret `json:"kubeadminPasswordHash,omitempty"`
	// InstallConfig is the text of install-config.yaml.
	InstallConfig Secret `json:"installConfig,omitempty"`
	// CryptoRetention keeps existing kubeconfig files valid.
	CryptoRetention *CryptoRetention `json:"cryptoRetention,omitempty"`
}

// CryptoRetention are the keys and certificates that existing kubeconfig files rely on, all PEM.
type CryptoRetention struct {
	// LocalhostSignerKey is that of the localhost signer.
	LocalhostSignerKey Secret `json:"localhostSignerKey,omitempty"`
	// ServiceNetworkSignerKey is that of the service network's signer.
	ServiceNetworkSignerKey Secret `json:"serviceNetworkSignerKey,omitempty"`
	// LoadBalancerSignerKey is that of the load balancer's signer.
	LoadBalancerSignerKey Secret `json:"loadBalancerSignerKey,omitempty"`
	// AdminCACertificate is the authority of the administrator's client certificate.
	AdminCACertificate string `json:"adminCACertificate,omitempty"`
	// IngressCAKey is that of the ingress operator's authority.
	IngressCAKey Secret `json:"ingressCAKey,omitempty"`
	// IngressCertificateCN is the name of that authority.
	IngressCertificateCN string `json:"ingressCertificateCN,omitempty"`
}

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

// Secret is text that must not be shown. Printing or logging it, by whatever verb, yields a placeholder; encoding it
// as JSON or YAML yields the text, because a configuration is delivered that way.
type Secret string

const hidden = "[hidden]"

// Reveal is the text.
func (s Secret) Reveal() string { return string(s) }

// Format implements fmt.Formatter for every verb.
func (s Secret) Format(f fmt.State, _ rune) {
	if s != "" {
		_, _ = f.Write([]byte(hidden)) // as with any Formatter, fmt keeps the error
	}
}

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value {
	if s == "" {
		return slog.StringValue("")
	}
	return slog.StringValue(hidden)
}
