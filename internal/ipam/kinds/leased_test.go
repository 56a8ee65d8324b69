package kinds

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func provisioning(spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetName(ProvisioningName)
	return o
}

func words(leased []Leased) (out []string) {
	for _, l := range leased {
		out = append(out, l.What)
	}
	return out
}

func TestLeasedByProvisioning(t *testing.T) {
	for name, k := range map[string]struct {
		spec map[string]any
		want []string
		err  string
	}{
		"managed": {map[string]any{"provisioningNetwork": "Managed", "provisioningNetworkCIDR": "172.22.0.0/24", "provisioningIP": "172.22.0.3",
			"provisioningDHCPRange": "172.22.0.10,172.22.0.254"},
			[]string{"DHCP range 172.22.0.10-172.22.0.254 of Provisioning provisioning-configuration",
				"provisioningIP 172.22.0.3 of Provisioning provisioning-configuration"}, ""},
		"before there were modes": {map[string]any{"provisioningDHCPRange": "fd00:1101::a,fd00:1101:0:0:ffff:ffff:ffff:fffe"},
			[]string{"DHCP range fd00:1101::a-fd00:1101::ffff:ffff:ffff:fffe of Provisioning provisioning-configuration"}, ""},
		"unmanaged": {map[string]any{"provisioningNetwork": "Unmanaged", "provisioningDHCPRange": "172.22.0.10,172.22.0.254"}, nil, ""},
		"disabled":  {map[string]any{"provisioningNetwork": "Disabled"}, nil, ""},
		"one end":   {map[string]any{"provisioningDHCPRange": "172.22.0.10"}, nil, `"172.22.0.10" is not of the form first,last`},
		"reversed":  {map[string]any{"provisioningDHCPRange": "172.22.0.10,172.22.0.1"}, nil, "is reversed"},
		"outside": {map[string]any{"provisioningNetworkCIDR": "172.22.0.0/24", "provisioningDHCPRange": "172.22.0.10,172.22.1.1"}, nil,
			"provisioningDHCPRange 172.22.0.10-172.22.1.1 leaves provisioningNetworkCIDR 172.22.0.0/24"},
	} {
		t.Run(name, func(t *testing.T) {
			leased, err := LeasedByProvisioning(provisioning(k.spec))
			if k.err != "" {
				require.ErrorContains(t, err, k.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, k.want, words(leased))
		})
	}
}

func TestLeasedByConfigMap(t *testing.T) {
	o := &corev1.ConfigMap{}
	o.Namespace, o.Name = "baremetal-operator-system", "ironic"
	for text, want := range map[string][]string{
		"":                         nil,
		"172.22.0.10,172.22.0.100": {"DHCP_RANGE 172.22.0.10-172.22.0.100 of ConfigMap baremetal-operator-system/ironic"},
		"172.22.0.10, 172.22.0.100,255.255.255.0,1h": {"DHCP_RANGE 172.22.0.10-172.22.0.100 of ConfigMap baremetal-operator-system/ironic"},
	} {
		o.Data = map[string]string{dhcpRangeKey: text}
		leased, err := LeasedByConfigMap(o)
		require.NoError(t, err, text)
		require.Equal(t, want, words(leased), text)
	}
	o.Data = map[string]string{dhcpRangeKey: "nonsense,172.22.0.1"}
	_, err := LeasedByConfigMap(o)
	require.ErrorContains(t, err, `DHCP_RANGE: "nonsense" is not an IP address`)
}
