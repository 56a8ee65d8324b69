package siteconfig

import (
	"encoding/json"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// What a file says about itself in its first two lines.
const (
	APIVersion = "relocation.lca.openshift.io/v1"
	Kind       = "SiteConfig"
)

// SiteConfig is the configuration of one site. A field that is left out keeps what the factory installed.
type SiteConfig struct {
	// APIVersion is relocation.lca.openshift.io/v1.
	APIVersion string `json:"apiVersion"`
	// Kind is SiteConfig.
	Kind string `json:"kind"`
	// Metadata names the configuration for people.
	Metadata Metadata `json:"metadata,omitzero"`

	// ClusterName renames the cluster.
	ClusterName string `json:"clusterName,omitempty"`
	// BaseDomain moves the cluster to another domain; with ClusterName its own domain is name.base.
	BaseDomain string `json:"baseDomain,omitempty"`
	// Domain is what the cluster is reached by: api.DOMAIN and *.apps.DOMAIN. Without it that is name.base, where the
	// cluster is renamed. It does not rename the cluster.
	Domain string `json:"domain,omitempty"`
	// Hostname is the node's name. A fully qualified name is allowed.
	Hostname string `json:"hostname,omitempty"`

	// Network is the desired state of the node's network, an nmstate document.
	Network *netstate.Document `json:"network,omitempty"`
	// Connections are NetworkManager keyfiles, for sites that have no nmstate document. They replace the connections of the factory
	// that are for the same interface.
	Connections []File `json:"connections,omitempty"`
	// NodeIPs are the addresses by which the cluster knows the node, at most one of each family, the primary first.
	// Without them they are the addresses of Network that lie in MachineNetworks.
	NodeIPs []string `json:"nodeIPs,omitempty"`
	// MachineNetworks are the networks that the node's addresses lie in, one of each family, the primary first.
	MachineNetworks []string `json:"machineNetworks,omitempty"`
	// DNSServers are the site's servers, in the order they are asked. They replace those of Network.
	DNSServers []string `json:"dnsServers,omitempty"`
	// Dnsmasq is about the node's own resolver for the names of the cluster.
	Dnsmasq *Dnsmasq `json:"dnsmasq,omitempty"`
	// Proxy is how the cluster reaches the world.
	Proxy *Proxy `json:"proxy,omitempty"`
	// StatusProxy is what the Proxy object reports as in effect, until the network operator derives it from Proxy again.
	StatusProxy *Proxy `json:"statusProxy,omitempty"`
	// NTPServers are names or addresses of time servers.
	NTPServers []string `json:"ntpServers,omitempty"`
	// ChronyConfig is a whole chrony.conf in place of NTPServers.
	ChronyConfig string `json:"chronyConfig,omitempty"`

	// PullSecret is the text of a .dockerconfigjson.
	PullSecret Secret `json:"pullSecret,omitempty"`
	// PullSecretRef names a Secret of the cluster with a key .dockerconfigjson instead.
	PullSecretRef *SecretRef `json:"pullSecretRef,omitempty"`
	// ReleaseRegistry is the registry that the release image is pulled from. Where a mirror stands for its registry, the mirror is used.
	ReleaseRegistry string `json:"releaseRegistry,omitempty"`
	// ImageContentSources become an ImageDigestMirrorSet, or an ImageContentSourcePolicy where the cluster is older.
	ImageContentSources []ImageMirror `json:"imageContentSources,omitempty"`
	// ImageDigestMirrors become an ImageDigestMirrorSet: for images named by digest.
	ImageDigestMirrors []ImageMirror `json:"imageDigestMirrors,omitempty"`
	// ImageTagMirrors become an ImageTagMirrorSet: for images named by tag.
	ImageTagMirrors []ImageMirror `json:"imageTagMirrors,omitempty"`
	// RegistryCAs are the authorities of registries; those that the cluster trusts already stay.
	RegistryCAs []RegistryCA `json:"registryCAs,omitempty"`
	// CatalogSources are the catalogs of operators.
	CatalogSources []CatalogSource `json:"catalogSources,omitempty"`
	// AdditionalTrust is what node and cluster trust beside what they are installed with.
	AdditionalTrust *Trust `json:"additionalTrust,omitempty"`
	// Certificates are those of the API and of the routes. Where there is none, the node makes one for the domain.
	Certificates *Certificates `json:"certificates,omitempty"`

	// SSHKeys may log in as core, one line of authorized_keys each.
	SSHKeys []string `json:"sshKeys,omitempty"`
	// ServerSSHKeys are the node's own host keys, file by file below /etc/ssh. They replace all that are there.
	ServerSSHKeys []SecretFile `json:"serverSSHKeys,omitempty"`
	// NodeLabels are set on the node.
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`

	// Hub is the cluster that manages this one.
	Hub *Hub `json:"hub,omitempty"`
	// Manifests are objects that are applied when the API answers, before hub registration.
	Manifests []json.RawMessage `json:"manifests,omitempty"`

	// Handover says which credentials the hand-over file holds.
	Handover *Handover `json:"handover,omitempty"`
	// Identity is what a cluster keeps that is installed again under the same name.
	Identity *Identity `json:"identity,omitempty"`
}

// Metadata names the configuration for people; nothing on the node depends on it.
type Metadata struct {
	// Name is the site's, as in tables and reports.
	Name string `json:"name,omitempty"`
}

// File is a NetworkManager keyfile by its base name. Its content must not be shown: it may hold a password.
type File struct {
	// Name ends in .nmconnection and has no folder.
	Name string `json:"name"`
	// Content is the text, nm-settings-keyfile(5).
	Content Secret `json:"content"`
}

// SecretFile is a file whose content must not be shown.
type SecretFile struct {
	// Name is ssh_host_TYPE_key, or that with .pub.
	Name string `json:"name"`
	// Content is the text. A public key that is left out is made from the private one.
	Content Secret `json:"content"`
}

// Dnsmasq is about the node's own resolver. It always answers api, api-int and *.apps of the cluster's own domain, by which kubelet
// finds the API.
type Dnsmasq struct {
	// Enabled says that the node also answers these names of Domain itself.
	Enabled bool `json:"enabled"`
	// Addresses are what it answers, of the node's own, at most one of each family; without them all of the node's.
	Addresses []string `json:"addresses,omitempty"`
}

// Proxy is how the cluster reaches the world. Its URLs may hold credentials.
type Proxy struct {
	// HTTPProxy is a URL; it may hold a password.
	HTTPProxy Secret `json:"httpProxy,omitempty"`
	// HTTPSProxy is a URL; it may hold a password.
	HTTPSProxy Secret `json:"httpsProxy,omitempty"`
	// NoProxy is a comma-separated list of names, addresses and networks.
	NoProxy string `json:"noProxy,omitempty"`
}
