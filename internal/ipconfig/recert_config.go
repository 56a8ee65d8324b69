package ipconfig

import (
	"fmt"
	"net/netip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// recertConfig is recert_config.json as the address change needs it. Its keys are recert's
// own; the kubeadmin key is left out on purpose, because an empty one
// means "delete the kubeadmin secret".
type recertConfig struct {
	EtcdEndpoint              string   `json:"etcd_endpoint"`
	IPChangeOnly              bool     `json:"ip_change_only"`
	IP                        []string `json:"ip"`
	MachineNetworkCIDR        []string `json:"machine_network_cidr"`
	InstallConfig             string   `json:"install_config,omitempty"`
	CryptoDirs                []string `json:"crypto_dirs"`
	CryptoFiles               []string `json:"crypto_files"`
	ClusterCustomizationDirs  []string `json:"cluster_customization_dirs"`
	ClusterCustomizationFiles []string `json:"cluster_customization_files"`
	CNSanReplaceRules         []string `json:"cn_san_replace_rules,omitempty"`
	UseKeyRules               []string `json:"use_key_rules,omitempty"`
	UseCertRules              []string `json:"use_cert_rules,omitempty"`
	SummaryFile               string   `json:"summary_file_clean"`
}

// keyFiles are the signer keys in the kubeconfig-crypto folder and the subjects they serve.
var keyFiles = []struct{ subject, file string }{
	{"kube-apiserver-lb-signer", "loadbalancer-serving-signer.key"},
	{"kube-apiserver-localhost-signer", "localhost-serving-signer.key"},
	{"kube-apiserver-service-network-signer", "service-network-serving-signer.key"},
}

func renderRecert(r Request, in Inputs, primary netip.Addr) (recertConfig, error) {
	families, err := r.Families()
	if err != nil {
		return recertConfig{}, err
	}
	dirs := []string{"/kubelet", "/kubernetes", "/machine-config-daemon"}
	c := recertConfig{
		EtcdEndpoint: "localhost:2379", IPChangeOnly: true, InstallConfig: in.InstallConfig,
		CryptoDirs: dirs, CryptoFiles: []string{"/host-etc/mcs-machine-config-content.json"},
		ClusterCustomizationDirs: dirs,
		ClusterCustomizationFiles: []string{
			"/host-etc/mcs-machine-config-content.json", "/host-etc/mco/proxy.env", "/host-etc/chrony.conf",
		},
		SummaryFile: host.RecertSummary,
	}
	for _, f := range PrimaryFirst(families, primary) {
		c.IP = append(c.IP, f.Address.String())
		c.MachineNetworkCIDR = append(c.MachineNetworkCIDR, f.Network.Masked().String())
		old, ok := sameFamily(in.NodeAddresses, f.Address)
		if !ok {
			return recertConfig{}, fmt.Errorf("the Node object has no address of the family of %s", f.Address)
		}
		if old != f.Address {
			c.CNSanReplaceRules = append(c.CNSanReplaceRules, old.String()+","+f.Address.String())
		}
	}
	c.addCryptoRules(in)
	return c, nil
}

func (c *recertConfig) addCryptoRules(in Inputs) {
	for _, k := range keyFiles {
		if _, ok := in.Crypto[k.file]; ok {
			c.UseKeyRules = append(c.UseKeyRules, k.subject+" "+host.KubeconfigCrypto+"/"+k.file)
		}
	}
	if _, ok := in.Crypto["ingresskey-ingress-operator.key"]; ok && in.IngressCN != "" {
		c.UseKeyRules = append(c.UseKeyRules, in.IngressCN+" "+host.KubeconfigCrypto+"/ingresskey-ingress-operator.key")
	}
	if _, ok := in.Crypto["admin-kubeconfig-client-ca.crt"]; ok {
		c.UseCertRules = append(c.UseCertRules, host.KubeconfigCrypto+"/admin-kubeconfig-client-ca.crt")
	}
}

func sameFamily(addrs []netip.Addr, like netip.Addr) (netip.Addr, bool) {
	for _, a := range addrs {
		if a.Is4() == like.Is4() {
			return a, true
		}
	}
	return netip.Addr{}, false
}
