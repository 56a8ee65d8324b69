package change

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// collectInputs refuses what cannot work on this node, while nothing is touched yet. Then it reads everything that needs the
// running cluster and writes it into the workspace, which is copied to the new stateroot.
func (p *PrePivot) collectInputs(ctx context.Context) error {
	if err := p.checkNode(ctx); err != nil {
		return err
	}
	config, err := writeRecertInputs(ctx, p.Cluster, p.Request, p.Files, p.Files)
	if err != nil {
		return err
	}
	if err := p.writeNetwork(ctx); err != nil {
		return err
	}
	return p.recordForecast(ctx, config)
}

// PrepareRecert writes into a copy of this node what recert needs to make the change there.
func PrepareRecert(ctx context.Context, n Ports, r ipconfig.Request, into host.Files) error {
	_, err := writeRecertInputs(ctx, n.Cluster, r, n.Files, into)
	return err
}

// writeRecertInputs writes recert's configuration, and the secrets that it names. node are the files of the system that runs.
func writeRecertInputs(ctx context.Context, c Cluster, r ipconfig.Request, node, into host.Files) (recertConfig, error) {
	in, err := c.Inputs(ctx, r.PullSecretRefName)
	if err != nil {
		return recertConfig{}, fmt.Errorf("collect recert's inputs from the cluster: %w", err)
	}
	if err := writeSecrets(into, in); err != nil {
		return recertConfig{}, err
	}
	config, err := renderRecert(r, in, primaryAddress(node, in.NodeAddresses))
	if err != nil {
		return recertConfig{}, err
	}
	return config, operation.WriteJSON(into, host.RecertConfig, config)
}

// checkNode fails on what no retry mends.
func (p *PrePivot) checkNode(ctx context.Context) error {
	if _, err := chosenImage(p.Files); err != nil {
		return err
	}
	if err := stateroot.OwnState(p.Files, p.Request.OldStateroot); err != nil {
		return flow.Permanent(err)
	}
	if err := p.Deployments.CanSetDefault(ctx); err != nil {
		return flow.Permanent(err)
	}
	if _, err := p.moveKernelArguments(ctx); err != nil {
		return err
	}
	return stateroot.Room{Files: p.Files, Disk: p.Trees}.Enough(ctx, p.stateroots())
}

func writeSecrets(files host.Files, in Inputs) error {
	for name, data := range in.Crypto {
		if err := files.Write(path.Join(ipconfig.CryptoDir, name), data, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if len(in.PullSecret) == 0 {
		return nil
	}
	if err := files.Write(host.RecertPullSecret, in.PullSecret, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", host.RecertPullSecret, err)
	}
	return nil
}

// primaryAddress is the node's primary address: what nodeip-configuration chose, else the Node object's first.
func primaryAddress(files host.Files, fallback []netip.Addr) netip.Addr {
	if data, err := files.Read(host.PrimaryIP); err == nil {
		if a, err := netip.ParseAddr(trimText(data)); err == nil {
			return a
		}
	}
	if len(fallback) > 0 {
		return fallback[0]
	}
	return netip.Addr{}
}

func (p *PrePivot) writeNetwork(ctx context.Context) error {
	now, err := p.Network.Observe(ctx)
	if err != nil {
		return fmt.Errorf("observe the node's network: %w", err)
	}
	_, doc, err := renderNetwork(ctx, p.Switch, p.Request, now)
	if err != nil {
		return err
	}
	if err := p.Planner.CheckKernel(doc); err != nil {
		return flow.Permanent(fmt.Errorf("the new network cannot be made: %w", err))
	}
	data, err := doc.Encode()
	if err != nil {
		return err
	}
	if err := p.Files.Write(ipconfig.NMStateFile, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", ipconfig.NMStateFile, err)
	}
	return nil
}

// removeInputs wipes what collect wrote; the request stays, the operator owns it.
func (p *PrePivot) removeInputs(context.Context) error {
	var errs []error
	for _, f := range append(secretFiles(), host.RecertConfig, ipconfig.NMStateFile, ipconfig.ForecastFile) {
		errs = append(errs, p.Files.Remove(f))
	}
	return errors.Join(errs...)
}

func trimText(data []byte) string { return strings.TrimSpace(string(data)) }

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

func renderRecert(r ipconfig.Request, in Inputs, primary netip.Addr) (recertConfig, error) {
	families, err := r.Families()
	if err != nil {
		return recertConfig{}, fmt.Errorf("render the configuration of recert: %w", err)
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
	for _, f := range ipconfig.PrimaryFirst(families, primary) {
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
			c.UseKeyRules = append(c.UseKeyRules, k.subject+" "+ipconfig.CryptoDir+"/"+k.file)
		}
	}
	if _, ok := in.Crypto["ingresskey-ingress-operator.key"]; ok && in.IngressCN != "" {
		c.UseKeyRules = append(c.UseKeyRules, in.IngressCN+" "+ipconfig.CryptoDir+"/ingresskey-ingress-operator.key")
	}
	if _, ok := in.Crypto["admin-kubeconfig-client-ca.crt"]; ok {
		c.UseCertRules = append(c.UseCertRules, ipconfig.CryptoDir+"/admin-kubeconfig-client-ca.crt")
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
