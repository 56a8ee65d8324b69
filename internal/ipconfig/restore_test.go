package ipconfig

import (
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// TestAnObjectOfARequestAsksForTheSameRequest: what a request is restored to leads to the same request files again.
func TestAnObjectOfARequestAsksForTheSameRequest(t *testing.T) {
	vlan := int32(7)
	asked := &lcav1.IPConfig{Spec: lcav1.IPConfigSpec{
		Stage: lcav1.StageConfig,
		IPv4:  &lcav1.IPv4Config{Address: "198.51.100.10", MachineNetwork: "198.51.100.0/24"},
		IPv6:  &lcav1.IPv6Config{Address: "2001:db8::10", MachineNetwork: "2001:db8::/64", Gateway: "fe80::1"},

		DNSServers: []string{"198.51.100.53"}, VLANID: &vlan, DNSFilterOutFamily: lcav1.DNSFilterIPv4,
		AutoRollbackOnFailure: &lcav1.AutoRollbackOnFailure{InitMonitorTimeoutSeconds: 77},
		Probes: []lcav1.Probe{
			{Name: "hub", Type: lcav1.ProbeHTTP, Target: "https://hub.example.com", HTTP: &lcav1.HTTPProbe{StatusCodes: []int32{200}, InsecureSkipVerify: true}},
			{Name: "ntp", Type: lcav1.ProbeICMP, Target: "192.0.2.7", TimeoutSeconds: 5},
		},
	}}
	asked.Annotations = map[string]string{lcav1.AutoRollbackOnFailureIPConfigRunAnnotation: lcav1.AutoRollbackDisableValue}
	now := Current{IPv4: &lcav1.IPStatus{Address: "192.0.2.10", MachineNetwork: "192.0.2.0/24", Gateway: "198.51.100.1"}, VLANID: 3}
	request, auto := BuildRequest("op", "rhcos", asked.Spec, now), AutoRollbackFor(asked)
	request.PullSecretRefName = "pull"

	got := request.Object(auto, PostPivotConfig{RecertImage: "quay.io/x/recert:1"})
	again := BuildRequest("op", "rhcos", got.Spec, now)
	again.PullSecretRefName = got.Annotations[lcav1.RecertPullSecretAnnotation]
	require.Equal(t, request, again)
	require.Equal(t, auto, AutoRollbackFor(got))
	require.Equal(t, "quay.io/x/recert:1", got.Annotations[lcav1.RecertImageAnnotation])
	require.Equal(t, []string{"198.51.100.10", "2001:db8::10"}, []string{got.Status.IPv4.Address, got.Status.IPv6.Address})

	salvaged := Request{OperationID: "op", NewStateroot: "new", OldStateroot: "rhcos"}.Object(auto, PostPivotConfig{})
	require.Equal(t, lcav1.IPConfigSpec{Stage: lcav1.StageConfig, AutoRollbackOnFailure: got.Spec.AutoRollbackOnFailure}, salvaged.Spec,
		"a lost request names nothing, so nothing can differ")
}
