package netpolicy

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

const document = "desiredState: {interfaces: [{name: eth1, type: ethernet, state: up}]}"

func TestAPolicyIsRolledOut(t *testing.T) {
	w := newWorld(t, 5)
	p := w.policy("p", "maxUnavailable: 2\n"+document)
	now := w.reaches(p, "Available", "5/5 nodes successfully configured")
	require.Equal(t, 2, w.agents.most(p.Name))
	require.Equal(t, nmstatev1.PhaseDone, now.Status.Rollout.Phase)
	w.says(p, "Normal SuccessfullyConfigured: 5/5 nodes successfully configured")
	said := w.events.of(p)
	require.True(t, strings.HasPrefix(said[0], "Normal Rolling: ") || strings.HasPrefix(said[0], "Normal Granted: "), said)
	apitest.RequireRest(t, "netpolicy")
}

// TestABadPolicyStops: as many nodes fail as may be unavailable, the rest never starts, and an edit starts anew.
func TestABadPolicyStops(t *testing.T) {
	w := newWorld(t, 5)
	w.agents.fails(func(string, string) condition.State { return condition.Failed })
	p := w.policy("p", "maxUnavailable: 2\n"+document)
	w.reaches(p, "Degraded", "2/5 nodes failed to configure, 3 nodes aborted configuration")
	require.Equal(t, map[condition.State]int{condition.Failed: 2, condition.Aborted: 3}, w.states(p))
	require.Equal(t, 2, w.agents.most(p.Name))
	w.agents.fails(nil)
	now := w.get(p)
	now.Spec.DesiredState.Raw = []byte(`{"interfaces":[{"name":"eth2","type":"ethernet"}]}`)
	require.NoError(t, w.api.Update(t.Context(), now))
	w.reaches(p, "Available", "5/5 nodes successfully configured")
}

func TestNodesThatAreNotReadyDoNotBlock(t *testing.T) {
	w := newWorld(t, 3)
	w.label(w.node(2), "down", "yes")
	w.ready(w.node(2), false)
	p := w.policy("p", document)
	w.reaches(p, "Available", "2/3 nodes successfully configured")
	w.label(w.node(2), "down", "")
	w.ready(w.node(2), true)
	w.reaches(p, "Available", "3/3 nodes successfully configured")
}

// says waits for an event, which follows the status.
func (w *world) says(p *nmstatev1.NodeNetworkConfigurationPolicy, event string) {
	w.t.Helper()
	w.eventually(func() bool { return slices.Contains(w.events.of(p), event) }, func() string { return asYAML(w.events.of(p)) })
}

func (w *world) label(node, key, value string) {
	quoted := strconv.Quote(value)
	if value == "" {
		quoted = "null"
	}
	w.nodePatch(node, `{"metadata":{"labels":{"`+key+`":`+quoted+`}}}`)
}

func (w *world) nodePatch(node, patch string) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	require.NoError(w.t, w.api.Patch(w.t.Context(), n, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

func TestNodeSelector(t *testing.T) {
	w := newWorld(t, 2)
	p := w.policy("p", "nodeSelector: {zone: "+w.name+"}\n"+document)
	w.reaches(p, "Ignored", "Policy does not match any node")
	w.label(w.node(1), "zone", w.name)
	w.reaches(p, "Available", "1/1 nodes successfully configured")
	w.label(w.node(1), "zone", "")
	w.reaches(p, "Ignored", "Policy does not match any node")
	require.Empty(t, w.states(p), "the agent removes its enactment")
}

func TestCanaryStopsABadPolicy(t *testing.T) {
	w := newWorld(t, 4)
	w.agents.fails(func(node, _ string) condition.State { return condition.Failed })
	w.label(w.node(3), "canary", w.name)
	p := w.policy("p", "maxUnavailable: 100%\nrollout: {canary: {selector: {canary: "+w.name+"}}, soakSeconds: 600}\n"+document)
	w.reaches(p, "Degraded", "1/4 nodes failed to configure, 3 nodes aborted configuration")
	require.Equal(t, nmstatev1.PhaseAborted, w.phase(p, nmstatev1.PhaseAborted).Phase)
	e := w.enactment(w.node(3), p)
	state, _ := condition.Of(e.Status.Conditions)
	require.Equal(t, condition.Failed, state)
}

func (w *world) enactment(node string, p *nmstatev1.NodeNetworkConfigurationPolicy) *v1beta1.NodeNetworkConfigurationEnactment {
	e := &v1beta1.NodeNetworkConfigurationEnactment{}
	require.NoError(w.t, w.api.Get(w.t.Context(), client.ObjectKey{Name: v1beta1.EnactmentName(node, p.Name)}, e))
	return e
}

func TestCanarySoaks(t *testing.T) {
	w := newWorld(t, 3)
	p := w.policy("p", "rollout: {canary: {count: 1}, soakSeconds: 3}\n"+document)
	status := w.phase(p, nmstatev1.PhaseSoaking)
	require.Contains(t, status.Message, "other nodes start at")
	require.Equal(t, 1, status.Configured)
	w.reaches(p, "Available", "3/3 nodes successfully configured")
}

func TestManualApproval(t *testing.T) {
	w := newWorld(t, 2)
	p := w.policy("p", "approval: Manual\n"+document)
	w.eventually(func() bool {
		return strings.HasPrefix(w.phase(p, nmstatev1.PhaseAwaitingApproval).Message, "2 of 2 nodes have published their plan")
	}, func() string { return asYAML(w.get(p).Status) })
	w.annotate(p, nmstatev1.ApprovedAnnotation, "99")
	w.annotate(p, "unrelated", "x")
	w.phase(p, nmstatev1.PhaseAwaitingApproval)
	require.Equal(t, map[condition.State]int{condition.Pending: 2}, w.states(p))
	w.annotate(p, nmstatev1.ApprovedAnnotation, strconv.FormatInt(w.get(p).Generation, 10))
	w.reaches(p, "Available", "2/2 nodes successfully configured")
}

func TestPauseOnFailureAndResume(t *testing.T) {
	w := newWorld(t, 4)
	bad := ""
	w.agents.fails(func(node, _ string) condition.State {
		if bad == "" {
			bad = node
		}
		if node == bad {
			return condition.Failed
		}
		return condition.Available
	})
	p := w.policy("p", "maxUnavailable: 2\nrollout: {pauseOnFailure: true}\n"+document)
	w.phase(p, nmstatev1.PhasePaused)
	w.annotate(p, nmstatev1.ResumedAnnotation, strconv.FormatInt(w.get(p).Generation, 10))
	w.reaches(p, "Degraded", "1/4 nodes failed to configure")
	w.eventually(func() bool { return w.states(p)[condition.Available] == 3 }, func() string { return asYAML(w.states(p)) })
}

func TestPausedByAPerson(t *testing.T) {
	w := newWorld(t, 2)
	w.agents.fails(func(string, string) condition.State { return condition.Progressing })
	p := w.policy("p", "maxUnavailable: 1\n"+document)
	w.eventually(func() bool { return w.states(p)[condition.Progressing] == 1 }, func() string { return asYAML(w.states(p)) })
	w.annotate(p, nmstatev1.PausedAnnotation, "true")
	w.phase(p, nmstatev1.PhasePaused)
	w.agents.fails(nil)
	w.eventually(func() bool { return w.states(p)[condition.Available] == 1 }, func() string { return asYAML(w.states(p)) })
	require.Equal(t, 1, w.states(p)[condition.Pending])
	w.annotate(p, nmstatev1.PausedAnnotation, "")
	w.reaches(p, "Available", "2/2 nodes successfully configured")
}

func TestConflictsAreReportedWithBothNamesAndKeys(t *testing.T) {
	w := newWorld(t, 1)
	a := w.policy("a", "desiredState: {interfaces: [{name: eth1, mtu: 1500}]}")
	b := w.policy("b", "desiredState: {interfaces: [{name: eth1, mtu: 9000}]}")
	w.reaches(a, "Conflicting", "other values are wanted by policy "+b.Name+" on node "+w.node(0)+" (interfaces[eth1].mtu: 1500, 9000)")
	w.reaches(b, "Conflicting", "other values are wanted by policy "+a.Name+" on node "+w.node(0)+" (interfaces[eth1].mtu: 9000, 1500)")
	require.NoError(t, w.api.Delete(t.Context(), b))
	w.eventually(func() bool { return w.get(a).Status.Conflicts == nil }, func() string { return asYAML(w.get(a).Status) })
}

func TestDeletionKeepsTheNodesAndCleansUp(t *testing.T) {
	w := newWorld(t, 2)
	p := w.policy("p", document)
	w.reaches(p, "Available", "2/2 nodes successfully configured")
	w.label(w.node(0), "down", "yes")
	require.NoError(t, w.api.Delete(t.Context(), p))
	w.eventually(func() bool { return len(w.states(p)) == 0 }, func() string { return "enactments remain, of the node that is down too" })
}

func TestDeletionReverts(t *testing.T) {
	w := newWorld(t, 3)
	p := w.policy("p", "onDelete: Revert\nmaxUnavailable: 1\n"+document)
	w.reaches(p, "Available", "3/3 nodes successfully configured")
	require.Contains(t, w.get(p).Finalizers, nmstatev1.RevertFinalizer)
	w.agents.fails(func(string, string) condition.State { return condition.Progressing })
	require.NoError(t, w.api.Delete(t.Context(), p))
	require.Equal(t, 3, w.phase(p, nmstatev1.PhaseReverting).Nodes)
	w.eventually(func() bool { return w.states(p)[condition.Progressing] == 1 }, func() string { return asYAML(w.states(p)) })
	w.agents.fails(nil)
	w.eventually(func() bool {
		return client.IgnoreNotFound(w.api.Get(t.Context(), client.ObjectKeyFromObject(p), p.DeepCopy())) == nil && len(w.states(p)) == 0 && w.gone(p)
	}, func() string { return "the policy remains" })
	require.Equal(t, 1, w.agents.most(p.Name))
	w.says(p, "Normal Reverted: every node has reverted the policy")
}

func (w *world) gone(p *nmstatev1.NodeNetworkConfigurationPolicy) bool {
	return w.api.Get(w.t.Context(), client.ObjectKeyFromObject(p), p.DeepCopy()) != nil
}

// TestARevertThatFailsStops, and lets go of the policy when a person decides to keep the configuration.
func TestARevertThatFailsStops(t *testing.T) {
	w := newWorld(t, 2)
	p := w.policy("p", "onDelete: Revert\nmaxUnavailable: 1\n"+document)
	w.reaches(p, "Available", "2/2 nodes successfully configured")
	w.agents.fails(func(string, string) condition.State { return condition.Failed })
	require.NoError(t, w.api.Delete(t.Context(), p))
	w.reaches(p, "Degraded", "1/2 nodes failed to configure, 1 nodes aborted configuration")
	now := w.get(p)
	now.Spec.OnDelete = nmstatev1.OnDeleteKeep
	require.NoError(t, w.api.Update(t.Context(), now))
	w.eventually(func() bool { return w.gone(p) && len(w.states(p)) == 0 }, func() string { return "the policy remains" })
}

// TestHandoverFromKubernetesNmstate: while its handler is there nothing is granted and its status stays; afterwards what it configured is
// adopted without a change.
func TestHandoverFromKubernetesNmstate(t *testing.T) {
	s := shared.Server(t)
	handler := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nmstate-handler",
		Labels: map[string]string{nmstatev1.HandlerLabelKey: nmstatev1.HandlerLabelValue}}}
	handler.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	handler.Spec.Template.Labels = map[string]string{"a": "b"}
	handler.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	require.NoError(t, s.Client.Create(t.Context(), handler))
	t.Cleanup(func() { _ = s.Client.Delete(t.Context(), handler) })
	w := newWorld(t, 2)
	p := w.policy("p", document)
	status := w.phase(p, nmstatev1.PhaseStandby)
	require.Contains(t, status.Message, "kubernetes-nmstate (DaemonSet default/nmstate-handler) configures this cluster's nodes")
	require.Empty(t, w.get(p).Status.Conditions)
	w.eventually(func() bool { return w.states(p)[condition.Pending] == 2 }, func() string { return asYAML(w.states(p)) })
	for i := range 2 { // as the handler leaves it
		e := w.enactment(w.node(i), p)
		require.NoError(t, w.agents.write(t.Context(), w.get(p), e, condition.Available, condition.MessageAvailable))
	}
	require.NoError(t, s.Client.Delete(t.Context(), handler))
	w.reaches(p, "Available", "2/2 nodes successfully configured")
	w.eventually(func() bool { return v1beta1.Granted(w.enactment(w.node(0), p), p) }, func() string { return "not adopted" })
	require.Zero(t, w.agents.most(p.Name), "no node changes anything")
}
