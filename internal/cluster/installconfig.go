package cluster

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Where OpenShift's installer leaves the configuration it installed with.
const (
	InstallConfigNamespace = "kube-system"
	InstallConfigName      = "cluster-config-v1"
	InstallConfigKey       = "install-config"
)

// InstallConfig is the installer's configuration as kept in the cluster.
type InstallConfig struct {
	// Text is the whole document, unchanged: recert is given exactly this.
	Text string
	// Networks of the cluster in the order in which the document names them.
	MachineNetworks, ClusterNetworks, ServiceNetworks []netip.Prefix
}

// installConfigDocument is the part of the document this product reads. Source of
// the format: openshift/installer pkg/types InstallConfig.
type installConfigDocument struct {
	Networking struct {
		MachineNetwork []networkEntry `json:"machineNetwork"`
		// MachineCIDR is the deprecated form of a single machine network.
		MachineCIDR    string         `json:"machineCIDR"`
		ClusterNetwork []networkEntry `json:"clusterNetwork"`
		ServiceNetwork []string       `json:"serviceNetwork"`
	} `json:"networking"`
}

type networkEntry struct {
	CIDR string `json:"cidr"`
}

// ReadInstallConfig reads ConfigMap kube-system/cluster-config-v1.
func ReadInstallConfig(ctx context.Context, r client.Reader) (InstallConfig, error) {
	var cm corev1.ConfigMap
	key := client.ObjectKey{Namespace: InstallConfigNamespace, Name: InstallConfigName}
	if err := r.Get(ctx, key, &cm); err != nil {
		return InstallConfig{}, fmt.Errorf("get configmap %s: %w", key, err)
	}
	text, ok := cm.Data[InstallConfigKey]
	if !ok {
		return InstallConfig{}, fmt.Errorf("configmap %s has no key %s", key, InstallConfigKey)
	}
	return ParseInstallConfig(text)
}

// ParseInstallConfig reads the networks out of the document.
func ParseInstallConfig(text string) (InstallConfig, error) {
	var doc installConfigDocument
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		// The parser's message may quote the document, which may hold a pull secret.
		return InstallConfig{}, fmt.Errorf("the install-config is not valid YAML")
	}
	ic := InstallConfig{Text: text}
	machine := cidrs(doc.Networking.MachineNetwork)
	if len(machine) == 0 && doc.Networking.MachineCIDR != "" {
		machine = []string{doc.Networking.MachineCIDR}
	}
	for _, part := range []struct {
		what string
		from []string
		to   *[]netip.Prefix
	}{
		{"machineNetwork", machine, &ic.MachineNetworks},
		{"clusterNetwork", cidrs(doc.Networking.ClusterNetwork), &ic.ClusterNetworks},
		{"serviceNetwork", doc.Networking.ServiceNetwork, &ic.ServiceNetworks},
	} {
		for _, s := range part.from {
			p, err := netip.ParsePrefix(s)
			if err != nil {
				return InstallConfig{}, fmt.Errorf("networking.%s of the install-config: %w", part.what, err)
			}
			*part.to = append(*part.to, p.Masked())
		}
	}
	return ic, nil
}

func cidrs(entries []networkEntry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.CIDR)
	}
	return out
}

// MachineNetworkOf returns the machine network that contains the address, the
// most specific one if several do.
func (ic InstallConfig) MachineNetworkOf(addr netip.Addr) (netip.Prefix, bool) {
	best, found := netip.Prefix{}, false
	for _, p := range ic.MachineNetworks {
		if p.Contains(addr) && (!found || p.Bits() > best.Bits()) {
			best, found = p, true
		}
	}
	return best, found
}
