package netenactment

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// A policy for machine config pools is for the nodes on which the machine-config daemon has written its document. What an edit drops is
// restored there.
func TestAPolicyForPoolsIsForNodesThatHaveItsDocument(t *testing.T) {
	const both = `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1400}],` +
		`"routes":{"config":[{"destination":"198.51.100.0/24","next-hop-interface":"br-ex","next-hop-address":"192.0.2.9"}]}}`
	const route = `{"routes":{"config":[{"destination":"198.51.100.0/24","next-hop-interface":"br-ex","next-hop-address":"192.0.2.9"}]}}`
	w := newWorld(t)
	p := w.policy("pools", both, func(s *nmstatev1.NodeNetworkConfigurationPolicySpec) {
		s.MachineConfigPoolSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "a"}}
	})
	w.passes(2)
	require.Nil(t, w.enactment("pools"), "the node is in none of the pools, or does not have the document yet")
	require.NoError(t, w.node.Files().Write(machineconfig.Path("pools"), []byte("written by the machine-config daemon\n"), 0o600))
	w.pass()
	require.Equal(t, condition.Pending, w.state("pools"))
	w.grant(p)
	w.passes(2)
	require.Equal(t, condition.Available, w.state("pools"), w.message("pools"))
	require.Equal(t, 1400, w.mtu())

	w.edit(p, route)
	w.pass()
	require.Equal(t, "interfaces[br-ex].mtu", w.enactment("pools").Status.Plan.Changes[0].Key, "the plan shows what is restored")
	w.grant(p)
	w.passes(2)
	require.Equal(t, condition.Available, w.state("pools"), w.message("pools"))
	require.Equal(t, 1500, w.mtu())

	require.NoError(t, w.node.Files().Remove(machineconfig.Path("pools")))
	w.pass()
	require.Nil(t, w.enactment("pools"), "another pool has the node now")
}
