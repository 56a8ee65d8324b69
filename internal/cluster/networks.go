package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// Where OpenShift's installer stores its configuration.
const (
	installConfigNamespace = "kube-system"
	installConfigName      = "cluster-config-v1"
	installConfigKey       = "install-config"
)

// InstallConfig is the installer's configuration as kept in the cluster.
type InstallConfig struct {
	// Text is the whole document, unchanged: recert is given exactly this.
	Text string
	// Networks of the cluster in the order in which the document names them.
	MachineNetworks, ClusterNetworks, ServiceNetworks []netip.Prefix
	// ClusterName and BaseDomain make the cluster's domain. FIPS: the node's cryptography is restricted to FIPS 140.
	ClusterName, BaseDomain string
	FIPS                    bool
}

// installConfigDocument is the part of the document this product reads. Source of
// the format: openshift/installer pkg/types InstallConfig.
type installConfigDocument struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	BaseDomain string `json:"baseDomain"`
	FIPS       bool   `json:"fips"`
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
func ReadInstallConfig(ctx context.Context, r kube.Reader) (InstallConfig, error) {
	var cm corev1.ConfigMap
	key := kube.Key{Namespace: installConfigNamespace, Name: installConfigName}
	if err := r.Get(ctx, key, &cm); err != nil {
		return InstallConfig{}, fmt.Errorf("get configmap %s: %w", key, err)
	}
	text, ok := cm.Data[installConfigKey]
	if !ok {
		return InstallConfig{}, fmt.Errorf("configmap %s has no key %s", key, installConfigKey)
	}
	return parseInstallConfig(text)
}

// parseInstallConfig reads the networks out of the document.
func parseInstallConfig(text string) (InstallConfig, error) {
	var doc installConfigDocument
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		// The parser's message may quote the document, which may hold a pull secret.
		return InstallConfig{}, errors.New("the install-config is not valid YAML")
	}
	ic := InstallConfig{Text: text, ClusterName: doc.Metadata.Name, BaseDomain: doc.BaseDomain, FIPS: doc.FIPS}
	machine := cidrsOf(doc.Networking.MachineNetwork)
	if len(machine) == 0 && doc.Networking.MachineCIDR != "" {
		machine = []string{doc.Networking.MachineCIDR}
	}
	for _, part := range []struct {
		what string
		from []string
		to   *[]netip.Prefix
	}{
		{"machineNetwork", machine, &ic.MachineNetworks},
		{"clusterNetwork", cidrsOf(doc.Networking.ClusterNetwork), &ic.ClusterNetworks},
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

func cidrsOf(entries []networkEntry) []string {
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

// NetworkSettings are settings of the cluster that a new address can conflict with.
type NetworkSettings struct {
	// InternalNetworks are used by OVN-Kubernetes on the node.
	InternalNetworks []netip.Prefix
	Proxy            Proxy
}

// Proxy is the spec of Proxy "cluster". It may hold a password; compare it, never print it.
type Proxy struct{ HTTPProxy, HTTPSProxy, NoProxy string }

// ovnSetting is a network in the spec of the Network operator, with its default.
type ovnSetting struct {
	path  []string
	value string
}

// ovnSettings of spec.defaultNetwork.ovnKubernetesConfig, source: openshift/api operator/v1.
func ovnSettings() []ovnSetting {
	return []ovnSetting{
		{[]string{"ipv4", "internalJoinSubnet"}, "100.64.0.0/16"},
		{[]string{"ipv4", "internalTransitSwitchSubnet"}, "100.88.0.0/16"},
		{[]string{"gatewayConfig", "ipv4", "internalMasqueradeSubnet"}, "169.254.0.0/17"},
		{[]string{"ipv6", "internalJoinSubnet"}, "fd98::/64"},
		{[]string{"ipv6", "internalTransitSwitchSubnet"}, "fd97::/64"},
		{[]string{"gatewayConfig", "ipv6", "internalMasqueradeSubnet"}, "fd69::/112"},
	}
}

// ReadNetworkSettings reads Network "cluster" of the network operator and Proxy "cluster". Without the former OVN's defaults
// apply, without the latter there is no proxy.
func ReadNetworkSettings(ctx context.Context, r kube.Reader) (NetworkSettings, error) {
	var out NetworkSettings
	network := unstructured.Unstructured{}
	network.SetGroupVersionKind(schema.GroupVersionKind{Group: "operator.openshift.io", Version: "v1", Kind: "Network"})
	if err := r.Get(ctx, kube.Key{Name: "cluster"}, &network); err != nil && !notServed(err) {
		return out, fmt.Errorf("get network.operator.openshift.io cluster: %w", err)
	}
	out.InternalNetworks = ovnNetworks(network.Object)
	var proxy configv1.Proxy
	if err := r.Get(ctx, kube.Key{Name: "cluster"}, &proxy); err != nil && !notServed(err) {
		return out, fmt.Errorf("get proxy cluster: %w", err)
	}
	out.Proxy = Proxy{HTTPProxy: proxy.Spec.HTTPProxy, HTTPSProxy: proxy.Spec.HTTPSProxy, NoProxy: proxy.Spec.NoProxy}
	return out, nil
}

func ovnNetworks(network map[string]any) (out []netip.Prefix) {
	config := []string{"spec", "defaultNetwork", "ovnKubernetesConfig"}
	if kind, _, _ := unstructured.NestedString(network, "spec", "defaultNetwork", "type"); kind != "" && kind != "OVNKubernetes" {
		return nil
	}
	for _, s := range ovnSettings() {
		text, _, _ := unstructured.NestedString(network, append(config[:3:3], s.path...)...)
		if text == "" {
			text = s.value
		}
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p.Masked())
		}
	}
	return out
}
