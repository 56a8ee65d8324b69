package cluster

import (
	"context"
	"fmt"
	"net/netip"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NetworkSettings are settings of the cluster that a new address can be at odds with.
type NetworkSettings struct {
	// InternalNetworks are those that OVN-Kubernetes uses on the node for itself.
	InternalNetworks []netip.Prefix
	Proxy            Proxy
}

// Proxy is the spec of Proxy "cluster". It may hold a password; it is for comparing, not for showing.
type Proxy struct{ HTTPProxy, HTTPSProxy, NoProxy string }

// ovnSetting is a network in the spec of the Network operator, and what it is where nothing is said.
type ovnSetting struct {
	path  []string
	usual string
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

// ReadNetworkSettings reads Network "cluster" of the network operator and Proxy "cluster". A cluster without
// the one has OVN's usual networks, one without the other has no proxy.
func ReadNetworkSettings(ctx context.Context, r client.Reader) (NetworkSettings, error) {
	var out NetworkSettings
	network := unstructured.Unstructured{}
	network.SetGroupVersionKind(schema.GroupVersionKind{Group: "operator.openshift.io", Version: "v1", Kind: "Network"})
	if err := r.Get(ctx, client.ObjectKey{Name: "cluster"}, &network); err != nil && !notServed(err) {
		return out, fmt.Errorf("get network.operator.openshift.io cluster: %w", err)
	}
	out.InternalNetworks = ovnNetworks(network.Object)
	var proxy configv1.Proxy
	if err := r.Get(ctx, client.ObjectKey{Name: "cluster"}, &proxy); err != nil && !notServed(err) {
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
			text = s.usual
		}
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p.Masked())
		}
	}
	return out
}
