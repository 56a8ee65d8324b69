package siteconfig

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// manifestVersion is the only version of manifest.json.
const manifestVersion = "1"

// seedReconfiguration is manifest.json of an image-based installation, with its spelling
// (openshift-kni/lifecycle-agent, api/seedreconfig).
type seedReconfiguration struct {
	APIVersion                int      `json:"api_version"`
	BaseDomain                string   `json:"base_domain"`
	ClusterName               string   `json:"cluster_name"`
	ClusterID                 string   `json:"cluster_id"`
	InfraID                   string   `json:"infra_id"`
	NodeIP                    string   `json:"node_ip"`
	NodeIPs                   []string `json:"node_ips"`
	ReleaseRegistry           string   `json:"release_registry"`
	Hostname                  string   `json:"hostname"`
	KubeconfigCryptoRetention struct {
		KubeAPICrypto struct {
			ServingCrypto struct {
				Localhost      Secret `json:"localhost_signer_private_key"`
				ServiceNetwork Secret `json:"service_network_signer_private_key"`
				LoadBalancer   Secret `json:"loadbalancer_external_signer_private_key"`
			} `json:"ServingCrypto"`
			ClientAuthCrypto struct {
				AdminCA string `json:"admin_ca_certificate"`
			} `json:"ClientAuthCrypto"`
		} `json:"KubeAPICrypto"`
		IngresssCrypto struct {
			IngressCA Secret `json:"ingress_ca"`
			IngressCN string `json:"ingress_certificate_cn"`
		} `json:"IngresssCrypto"`
	} `json:"KubeconfigCryptoRetention"`
	SSHKey        string `json:"ssh_key"`
	ServerSSHKeys []struct {
		FileName    string `json:"file_name"`
		FileContent Secret `json:"file_content"`
	} `json:"server_ssh_keys"`
	KubeadminPasswordHash Secret            `json:"kubeadmin_password_hash"`
	RawNMStateConfig      string            `json:"raw_nm_state_config"`
	PullSecret            Secret            `json:"pull_secret"`
	MachineNetwork        string            `json:"machine_network"`
	MachineNetworks       []string          `json:"machine_networks"`
	Proxy                 *Proxy            `json:"proxy"`
	StatusProxy           *Proxy            `json:"status_proxy"`
	InstallConfig         Secret            `json:"install_config"`
	ChronyConfig          string            `json:"chrony_config"`
	NodeLabels            map[string]string `json:"node_labels"`
	AdditionalTrustBundle struct {
		UserCABundle         string `json:"userCaBundle"`
		ProxyConfigmapName   string `json:"proxyConfigmapName"`
		ProxyConfigmapBundle string `json:"proxyConfigmapBundle"`
	} `json:"additionalTrustBundle"`
}

// manifestNames are the keys of SiteConfig whose name in manifest.json differs by more than its spelling.
var manifestNames = map[string]string{
	"network": "raw_nm_state_config", "identity.clusterID": "cluster_id", "identity.infraID": "infra_id",
	"identity.kubeadminPasswordHash": "kubeadmin_password_hash", "identity.installConfig": "install_config",
	"sshKeys": "ssh_key", "serverSSHKeys": "server_ssh_keys", "nodeIPs": "node_ips",
	"additionalTrust.userCABundle":         "additionalTrustBundle.userCaBundle",
	"additionalTrust.proxyConfigMapName":   "additionalTrustBundle.proxyConfigmapName",
	"additionalTrust.proxyConfigMapBundle": "additionalTrustBundle.proxyConfigmapBundle",
	"identity.cryptoRetention":             "KubeconfigCryptoRetention",
	"clusterName":                          "cluster_name", "baseDomain": "base_domain", "machineNetworks": "machine_networks",
	"pullSecret": "pull_secret", "releaseRegistry": "release_registry", "chronyConfig": "chrony_config",
	"statusProxy": "status_proxy", "nodeLabels": "node_labels",
}

func readSeedReconfiguration(root *yaml.Node) (SiteConfig, []Problem, func(string) string) {
	var m seedReconfiguration
	names := prefixRenamer(manifestNames)
	problems := fillFields(&m, root)
	if v := tree.Scalar(root, "api_version"); v != manifestVersion {
		problems = append(problems, Problem{Key: "api_version", Value: quoteNonEmpty(shortenValue(v)), Want: "must be " + manifestVersion})
	}
	c := m.siteConfig()
	if m.RawNMStateConfig != "" {
		doc, err := netstate.Decode([]byte(m.RawNMStateConfig))
		if err != nil {
			problems = append(problems, Problem{Key: "raw_nm_state_config", Want: "is not an nmstate document: " + oneLine(err.Error())})
		}
		c.Network = &doc
	}
	return c, problems, func(key string) string {
		if m.NodeIPs == nil && strings.HasPrefix(key, "nodeIPs") {
			return "node_ip"
		}
		if m.MachineNetworks == nil && strings.HasPrefix(key, "machineNetworks") {
			return "machine_network"
		}
		return names(key)
	}
}

func (m seedReconfiguration) siteConfig() SiteConfig {
	c := SiteConfig{
		APIVersion: APIVersion, Kind: Kind,
		BaseDomain: m.BaseDomain, ClusterName: m.ClusterName, Hostname: m.Hostname, ReleaseRegistry: m.ReleaseRegistry,
		NodeIPs: orOne(m.NodeIPs, m.NodeIP), MachineNetworks: orOne(m.MachineNetworks, m.MachineNetwork),
		SSHKeys: splitLines(m.SSHKey), PullSecret: m.PullSecret, Proxy: m.Proxy, StatusProxy: m.StatusProxy,
		ChronyConfig: m.ChronyConfig, NodeLabels: m.NodeLabels, Identity: m.toIdentity(),
	}
	if t := m.AdditionalTrustBundle; t.UserCABundle+t.ProxyConfigmapName+t.ProxyConfigmapBundle != "" {
		c.AdditionalTrust = &Trust{UserCABundle: t.UserCABundle, ProxyConfigMapName: t.ProxyConfigmapName,
			ProxyConfigMapBundle: t.ProxyConfigmapBundle}
	}
	for _, k := range m.ServerSSHKeys {
		c.ServerSSHKeys = append(c.ServerSSHKeys, SecretFile{Name: k.FileName, Content: k.FileContent})
	}
	return c
}

func (m seedReconfiguration) toIdentity() *Identity {
	api, ingress := m.KubeconfigCryptoRetention.KubeAPICrypto, m.KubeconfigCryptoRetention.IngresssCrypto
	id := Identity{ClusterID: m.ClusterID, InfraID: m.InfraID, KubeadminPasswordHash: m.KubeadminPasswordHash,
		InstallConfig: m.InstallConfig}
	crypto := CryptoRetention{
		LocalhostSignerKey: api.ServingCrypto.Localhost, ServiceNetworkSignerKey: api.ServingCrypto.ServiceNetwork,
		LoadBalancerSignerKey: api.ServingCrypto.LoadBalancer, AdminCACertificate: api.ClientAuthCrypto.AdminCA,
		IngressCAKey: ingress.IngressCA, IngressCertificateCN: ingress.IngressCN,
	}
	if crypto != (CryptoRetention{}) {
		id.CryptoRetention = &crypto
	}
	if id == (Identity{}) {
		return nil
	}
	return &id
}

func orOne(list []string, one string) []string {
	if len(list) == 0 && one != "" {
		return []string{one}
	}
	return list
}

func splitLines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// prefixRenamer replaces the longest beginning of a key that the table knows.
func prefixRenamer(names map[string]string) func(string) string {
	return func(key string) string {
		for end := len(key); end > 0; end = strings.LastIndexAny(key[:end], ".[") {
			if name, ok := names[key[:end]]; ok {
				return name + key[end:]
			}
		}
		return key
	}
}

// portNumber reads the port of a registry, which ClusterRelocation holds as a text.
func portNumber(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	port, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("port %q: %w", s, err)
	}
	return port, nil
}
