package cluster

import (
	"net/netip"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestReadNetworkSettings(t *testing.T) {
	served := map[string]bool{"operator.openshift.io": true}
	network := func(kind string, ovn map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "operator.openshift.io/v1", "kind": "Network", "metadata": map[string]any{"name": "cluster"},
			"spec": map[string]any{"defaultNetwork": map[string]any{"type": kind, "ovnKubernetesConfig": ovn}},
		}}
	}
	bare, err := ReadNetworkSettings(t.Context(), api(t, nil))
	require.NoError(t, err)
	require.Contains(t, bare.InternalNetworks, netip.MustParsePrefix("100.64.0.0/16"), "what OVN uses where nothing is said")
	require.Zero(t, bare.Proxy)

	proxy := &configv1.Proxy{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: configv1.ProxySpec{HTTPProxy: "http://p:1", NoProxy: "a,b"}}
	own := network("OVNKubernetes", map[string]any{"ipv4": map[string]any{"internalJoinSubnet": "100.66.0.0/16"}})
	set, err := ReadNetworkSettings(t.Context(), api(t, served, own, proxy))
	require.NoError(t, err)
	require.Equal(t, Proxy{HTTPProxy: "http://p:1", NoProxy: "a,b"}, set.Proxy)
	require.Contains(t, set.InternalNetworks, netip.MustParsePrefix("100.66.0.0/16"))
	require.NotContains(t, set.InternalNetworks, netip.MustParsePrefix("100.64.0.0/16"))
	require.Contains(t, set.InternalNetworks, netip.MustParsePrefix("fd98::/64"))

	other, err := ReadNetworkSettings(t.Context(), api(t, served, network("Calico", nil)))
	require.NoError(t, err)
	require.Empty(t, other.InternalNetworks)
}
