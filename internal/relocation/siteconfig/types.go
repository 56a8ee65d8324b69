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
	Kind     string   `json:"kind"`
	Metadata Metadata `json:"metadata,omitzero"`

	// ClusterName and BaseDomain rename the cluster: together they are its own domain, name.base.
	ClusterName string `json:"clusterName,omitempty"`
	BaseDomain  string `json:"baseDomain,omitempty"`
	// Domain is what the cluster is reached by: api.DOMAIN and *.apps.DOMAIN. Without it that is name.base, where the
	// cluster is renamed. It does not rename the cluster.
	Domain string `json:"domain,omitempty"`
	// Hostname is the node's name. A fully qualified name is allowed.
	Hostname string `json:"hostname,omitempty"`

	// Network is the desired state of the node's network, an nmstate document.
	Network *netstate.Document `json:"network,omitempty"`
	// Connections are NetworkManager keyfiles, for sites that have no nmstate document.
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
	Proxy   *Proxy   `json:"proxy,omitempty"`
	// StatusProxy is what the Proxy object reports as in effect; without it, it follows from Proxy.
	StatusProxy *Proxy `json:"statusProxy,omitempty"`
	// NTPServers are names or addresses of time servers. ChronyConfig is a whole chrony.conf in their place.
	NTPServers   []string `json:"ntpServers,omitempty"`
	ChronyConfig string   `json:"chronyConfig,omitempty"`

	// PullSecret is the text of a .dockerconfigjson.
	PullSecret Secret `json:"pullSecret,omitempty"`
	// PullSecretRef names a Secret of the cluster with a key .dockerconfigjson instead.
	PullSecretRef *SecretRef `json:"pullSecretRef,omitempty"`
	// ReleaseRegistry is the registry that the release images are pulled from.
	ReleaseRegistry string `json:"releaseRegistry,omitempty"`
	// ImageContentSources become an ImageDigestMirrorSet, or an ImageContentSourcePolicy where the cluster is older.
	ImageContentSources []ImageMirror   `json:"imageContentSources,omitempty"`
	ImageDigestMirrors  []ImageMirror   `json:"imageDigestMirrors,omitempty"`
	ImageTagMirrors     []ImageMirror   `json:"imageTagMirrors,omitempty"`
	RegistryCAs         []RegistryCA    `json:"registryCAs,omitempty"`
	CatalogSources      []CatalogSource `json:"catalogSources,omitempty"`
	AdditionalTrust     *Trust          `json:"additionalTrust,omitempty"`
	Certificates        *Certificates   `json:"certificates,omitempty"`

	// SSHKeys may log in as core, one line of authorized_keys each.
	SSHKeys []string `json:"sshKeys,omitempty"`
	// ServerSSHKeys are the node's own host keys, file by file below /etc/ssh.
	ServerSSHKeys []SecretFile      `json:"serverSSHKeys,omitempty"`
	NodeLabels    map[string]string `json:"nodeLabels,omitempty"`

	Hub *Hub `json:"hub,omitempty"`
	// Manifests are objects that are applied when the API answers, before hub registration.
	Manifests []json.RawMessage `json:"manifests,omitempty"`

	// Handover says which credentials the hand-over file holds.
	Handover *Handover `json:"handover,omitempty"`
	Identity *Identity `json:"identity,omitempty"`
}

// Metadata names the configuration for people; nothing on the node depends on it.
type Metadata struct {
	// Name is the site's, as in tables and reports.
	Name string `json:"name,omitempty"`
}

// File is a file by its base name.
type File struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// SecretFile is a file whose content must not be shown.
type SecretFile struct {
	Name    string `json:"name"`
	Content Secret `json:"content"`
}

// Dnsmasq is about the node's own resolver, which answers api, api-int and *.apps of the cluster's domain.
type Dnsmasq struct {
	Enabled bool `json:"enabled"`
	// Addresses are what it answers, at most one of each family; without them the node's.
	Addresses []string `json:"addresses,omitempty"`
}

// Proxy is how the cluster reaches the world. Its URLs may hold credentials.
type Proxy struct {
	HTTPProxy  Secret `json:"httpProxy,omitempty"`
	HTTPSProxy Secret `json:"httpsProxy,omitempty"`
	// NoProxy is a comma-separated list of names, addresses and networks.
	NoProxy string `json:"noProxy,omitempty"`
}
