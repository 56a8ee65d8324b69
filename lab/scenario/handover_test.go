//go:build lab

package scenario

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
)

// peersBridge is a policy that the other agent has carried out.
const peersBridge = `
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: peers}
spec:
  desiredState:
    interfaces:
    - name: br2
      type: linux-bridge
      state: up
      mtu: %s
      ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.115.5, prefix-length: 24}]}
      ipv6: {enabled: false}
      bridge: {options: {stp: {enabled: false}}, port: []}
`

// TestHandoverFromKubernetesNmstate: while another agent has a pod on the node, policies are its own. Once it is gone they are taken
// over, and a link that is as its policy says is not touched.
func TestHandoverFromKubernetesNmstate(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, _ := node(t, "scenario-handover")
	p := policies{t, l, install(ctx, t, l, "nmstate")}
	handler := p.handler(ctx)
	in(ctx, t, l, "sh", "-c", "nmcli connection add type bridge ifname br2 con-name br2 bridge.stp no 802-3-ethernet.mtu 1500 ipv4.method manual "+
		"ipv4.addresses 203.0.115.5/24 ipv6.method disabled && nmcli connection up br2")
	index := in(ctx, t, l, "cat", "/sys/class/net/br2/ifindex", "/sys/class/net/br2/carrier_changes")
	p.apply(ctx, fmt.Sprintf(peersBridge, "1500"))

	policy := &nmstatev1.NodeNetworkConfigurationPolicy{}
	until(ctx, t, "a policy in Standby", func() bool {
		return p.api.Get(ctx, client.ObjectKey{Name: "peers"}, policy) == nil && policy.Status.Rollout != nil &&
			policy.Status.Rollout.Phase == nmstatev1.PhaseStandby
	})
	require.Contains(t, policy.Status.Rollout.Message, "kubernetes-nmstate (DaemonSet default/nmstate-handler)")
	require.Empty(t, policy.Status.Conditions, "the conditions are the other agent's to write")
	until(ctx, t, "an event that names the other agent", func() bool { return p.told(ctx, policy, "Standby") })
	require.False(t, says(ctx, l, "systemctl cat lca-network-enact.service"), "the node changes nothing")

	require.NoError(t, p.api.Delete(ctx, handler))
	p.policyIs(ctx, "peers", nmstatev1.PolicyAvailable)
	require.Equal(t, index, in(ctx, t, l, "cat", "/sys/class/net/br2/ifindex", "/sys/class/net/br2/carrier_changes"), "the link was not touched")
	e := p.enactmentIs(ctx, "peers", nmstatev1beta1.EnactmentAvailable)
	require.Nil(t, e.Status.Drift)

	p.apply(ctx, fmt.Sprintf(peersBridge, "1400"))
	until(ctx, t, "the bridge as the edited policy says", func() bool { return says(ctx, l, "grep -q 1400 /sys/class/net/br2/mtu") })
	p.policyIs(ctx, "peers", nmstatev1.PolicyAvailable)
}

// handler runs a pod on the node that is labelled as the other agent's are.
func (p policies) handler(ctx context.Context) *appsv1.DaemonSet {
	p.t.Helper()
	labels := map[string]string{nmstatev1.HandlerLabelKey: nmstatev1.HandlerLabelValue}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nmstate-handler", Labels: labels}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec = corev1.PodSpec{
		HostNetwork: true,
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Containers:  []corev1.Container{{Name: "pause", Image: "localhost/lab/pause:1", ImagePullPolicy: corev1.PullNever}},
	}
	require.NoError(p.t, p.api.Create(ctx, set))
	until(ctx, p.t, "a pod of the other agent", func() bool {
		return p.api.Get(ctx, client.ObjectKeyFromObject(set), set) == nil && set.Status.NumberReady == 1
	})
	return set
}

// told says whether an event with this reason is about the object.
func (p policies) told(ctx context.Context, o client.Object, reason string) bool {
	events := &eventsv1.EventList{}
	require.NoError(p.t, p.api.List(ctx, events))
	for _, e := range events.Items {
		if e.Regarding.UID == o.GetUID() && e.Reason == reason {
			return true
		}
	}
	return false
}
