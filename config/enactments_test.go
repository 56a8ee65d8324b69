package config_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

// TestANodeWritesItsOwnEnactmentsButNoGrant uses tokens of pods on nodes. The rights are those that the policies stand behind.
func TestANodeWritesItsOwnEnactmentsButNoGrant(t *testing.T) {
	server := shared.Server(t)
	require.NoError(t, nmstatev1.AddToScheme(server.Scheme))
	require.NoError(t, v1beta1.AddToScheme(server.Scheme))
	apply(t, server, build(t, withComponent(t, "components/nmstate"))...)
	mayWriteNetworks(t, server)
	for _, name := range []string{"net", "net.b"} {
		addNode(t, server, name)
	}
	a, b := podOn(t, server, "net"), podOn(t, server, "net.b")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		granted := enactment("net", "p")
		granted.Annotations = map[string]string{v1beta1.GrantAnnotation: "1/x"}
		require.ErrorContains(c, a.Create(t.Context(), granted, client.DryRunAll), "may not write annotation lca.openshift.io/granted-generation")
	}, wait, tick, "the policy takes effect")

	t.Cleanup(func() {
		for _, left := range []client.Object{enactment("net", "p"), enactment("net.b", "p"),
			&v1beta1.NodeNetworkState{ObjectMeta: metav1.ObjectMeta{Name: "net"}}} {
			require.NoError(t, client.IgnoreNotFound(server.Client.Delete(context.Background(), left)))
		}
	})
	own, others := enactment("net", "p"), enactment("net.b", "p")
	require.NoError(t, a.Create(t.Context(), own))
	require.NoError(t, b.Create(t.Context(), others))
	require.ErrorContains(t, a.Create(t.Context(), enactment("other", "p")), "the agent of node net may")
	require.ErrorContains(t, a.Delete(t.Context(), others), "may write enactments only that have its node", "although the name begins alike")
	mislabelled := enactment("net", "q")
	mislabelled.Labels[nmstatev1.NodeLabel] = "net.b"
	require.ErrorContains(t, a.Create(t.Context(), mislabelled), "may write enactments only that have its node")

	const taken = "enactment net.b.q may be one of node net.b: give the policy a name without a dot to have it on node net"
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.ErrorContains(c, a.Create(t.Context(), enactment("net", "b.q"), client.DryRunAll), taken)
	}, wait, tick, "the policy takes effect")
	require.NoError(t, b.Create(t.Context(), enactment("net.b", "q"), client.DryRunAll))
	require.NoError(t, a.Create(t.Context(), enactment("net", "c.q"), client.DryRunAll), "there is no node net.c")

	write := func(c client.Client, annotations string) error {
		e := &v1beta1.NodeNetworkConfigurationEnactment{ObjectMeta: metav1.ObjectMeta{Name: own.Name}}
		return c.Patch(t.Context(), e, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":`+annotations+`}}`)))
	}
	require.ErrorContains(t, write(a, `{"lca.openshift.io/granted-generation":"1/x"}`), "the operator grants")
	require.ErrorContains(t, write(a, `{"lca.openshift.io/template-values":"{}"}`), "the operator grants")
	require.NoError(t, write(server.Client, `{"lca.openshift.io/granted-generation":"1/x"}`))
	require.ErrorContains(t, write(a, `{"lca.openshift.io/granted-generation":null}`), "the operator grants")
	require.NoError(t, write(a, `{"a":"b"}`))
	require.NoError(t, a.Status().Patch(t.Context(), own, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"policyGeneration":1}}`))))
	require.NoError(t, a.Delete(t.Context(), own))

	require.NoError(t, a.Create(t.Context(), &v1beta1.NodeNetworkState{ObjectMeta: metav1.ObjectMeta{Name: "net"}}))
	require.ErrorContains(t, a.Create(t.Context(), &v1beta1.NodeNetworkState{ObjectMeta: metav1.ObjectMeta{Name: "net.b"}}), "of another node")
}

func enactment(node, policy string) *v1beta1.NodeNetworkConfigurationEnactment {
	return &v1beta1.NodeNetworkConfigurationEnactment{ObjectMeta: metav1.ObjectMeta{Name: v1beta1.EnactmentName(node, policy),
		Labels: map[string]string{nmstatev1.NodeLabel: node, nmstatev1.PolicyLabel: policy}}}
}

// mayWriteNetworks gives the node role every right over enactments and states, so that it is the policies that refuse.
func mayWriteNetworks(t *testing.T, server *apitest.Server) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "test-write-networks"}
	require.NoError(t, client.IgnoreAlreadyExists(server.Client.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"nmstate.io"}, Verbs: []string{"create", "patch", "delete"},
		Resources: []string{"nodenetworkconfigurationenactments", "nodenetworkconfigurationenactments/status", "nodenetworkstates"}}}})))
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "openshift-lifecycle-agent", Name: "lifecycle-agent-node"}}}
	require.NoError(t, server.Client.Create(t.Context(), binding))
	t.Cleanup(func() { require.NoError(t, server.Client.Delete(context.Background(), binding)) })
}

// TestNetworkPoliciesAreAdmittedAsKubernetesNmstateAdmitsThem: names, edits while nodes change, captures, selectors.
func TestNetworkPoliciesAreAdmittedAsKubernetesNmstateAdmitsThem(t *testing.T) {
	server := shared.Server(t)
	require.NoError(t, nmstatev1.AddToScheme(server.Scheme))
	apply(t, server, build(t, withComponent(t, "components/nmstate"))...)
	policy := func(name string) *nmstatev1.NodeNetworkConfigurationPolicy {
		return &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		err := server.Client.Create(t.Context(), policy(strings.Repeat("a", 64)), client.DryRunAll)
		require.ErrorContains(c, err, "the name must be a label value of at most 63 characters")
	}, wait, tick, "the policy takes effect")

	p := policy("p")
	p.Spec.Capture = map[string]string{"a": "interfaces.name == \"eth1\""}
	require.NoError(t, server.Client.Create(t.Context(), p))
	t.Cleanup(func() { _ = server.Client.Delete(context.Background(), policy("p")) })
	edit := func(change string) error {
		return server.Client.Patch(t.Context(), policy("p"), client.RawPatch("application/merge-patch+json", []byte(change)))
	}
	require.ErrorContains(t, edit(`{"spec":{"capture":{"a":"interfaces.name == \"eth2\""}}}`), "capture cannot be changed")
	require.ErrorContains(t, edit(`{"spec":{"nodeSelector":{"a":"no label value!"}}}`), "must be label values")

	p.Status.Conditions = []nmstatev1.Condition{{Type: "Available", Status: "Unknown", Reason: "ConfigurationProgressing"}}
	p.Status.Rollout = &nmstatev1.RolloutStatus{Phase: nmstatev1.PhaseRolling, Granted: 1}
	require.NoError(t, server.Client.Status().Update(t.Context(), p))
	require.ErrorContains(t, edit(`{"spec":{"maxUnavailable":3}}`), "policy p is still in progress")
	require.NoError(t, edit(`{"metadata":{"annotations":{"lca.openshift.io/paused":"true"}}}`), "metadata can be edited")
	require.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p))
	p.Status.Rollout.Granted = 0
	require.NoError(t, server.Client.Status().Update(t.Context(), p))
	require.NoError(t, edit(`{"spec":{"maxUnavailable":3}}`), "no node is changing")
}
