package netenactment

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

func TestAPolicyIsEnactedWhenTheOperatorGrantsIt(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, nil)
	w.passes(3)
	require.Equal(t, condition.Pending, w.state("mtu"))
	require.Equal(t, 1500, w.mtu(), "nothing starts without the grant")
	e := w.enactment("mtu")
	require.Equal(t, int64(1), e.Status.PolicyGeneration)
	require.Equal(t, "Node", e.OwnerReferences[0].Kind)
	require.Equal(t, map[string]string{nmstatev1.PolicyLabel: "mtu", nmstatev1.NodeLabel: "node-a"}, e.Labels)
	require.NotNil(t, e.Status.Plan, "the plan is there before the grant")
	require.True(t, e.Status.Plan.TouchesPrimary)
	require.Contains(t, e.Status.Plan.Changes[0].Key, "mtu")

	w.grant(p)
	w.pass()
	require.Equal(t, condition.Progressing, w.state("mtu"))
	w.pass()
	require.Equal(t, condition.Available, w.state("mtu"))
	require.Equal(t, 1400, w.mtu())
	e = w.enactment("mtu")
	require.JSONEq(t, mtu1400, string(e.Status.DesiredState.Raw))
	require.NotEmpty(t, e.Status.RevertState.Raw)

	version := e.ResourceVersion
	w.passes(5)
	require.Equal(t, version, w.enactment("mtu").ResourceVersion, "an idle node writes nothing")

	w.edit(p, mtu1300)
	w.pass()
	require.Equal(t, condition.Pending, w.state("mtu"), "an edit needs a grant of its own")
	w.grant(p)
	w.passes(2)
	require.Equal(t, condition.Available, w.state("mtu"))
	require.Equal(t, 1300, w.mtu())

	require.NoError(t, w.server.Client.Delete(t.Context(), p))
	w.pass()
	require.Nil(t, w.enactment("mtu"))
	require.Equal(t, 1300, w.mtu(), "onDelete is Keep")
}

func TestAFailureIsExplained(t *testing.T) {
	w := newWorld(t)
	p := w.policy("gate", badGate, nil)
	w.pass()
	w.grant(p)
	w.passes(2)
	require.Equal(t, condition.Failed, w.state("gate"))
	e := w.enactment("gate")
	require.Equal(t, "Probe", e.Status.Failure.Phase)
	require.Equal(t, "Gateway", e.Status.Failure.Probe.Name)
	require.Equal(t, "203.0.113.1", e.Status.Failure.Probe.Target)
	require.True(t, e.Status.Failure.RolledBack)
	text, err := json.Marshal(e.Status.Failure)
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), netpolicy.MaxEvidence+64, "with the time")
	d, err := w.node.Network().Observe(t.Context())
	require.NoError(t, err)
	gateway, _ := netstate.DefaultGateway(d, netstate.IPv4, "")
	require.Equal(t, "192.0.2.1", gateway.String())
	require.Contains(t, events(t, w), "NetworkRolledBack")
}

func TestADocumentThatCannotBeReadFailsAtOnce(t *testing.T) {
	w := newWorld(t)
	p := w.policy("typo", `{"interfaces":[{"name":"eth0","mtuu":9000}]}`, nil)
	w.pass()
	w.grant(p)
	w.passes(2)
	require.Equal(t, condition.Failed, w.state("typo"), "a retry would not help")
	require.Contains(t, w.enactment("typo").Status.Failure.Message, "mtuu")
}

// The policy's end waits for the grant, because nodes revert one after the other too.
func TestADeletedPolicyIsReverted(t *testing.T) {
	shared.Server(t)
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, func(s *nmstatev1.NodeNetworkConfigurationPolicySpec) { s.OnDelete = nmstatev1.OnDeleteRevert })
	p.Finalizers = []string{nmstatev1.RevertFinalizer}
	require.NoError(t, w.server.Client.Update(t.Context(), p))
	w.pass()
	w.grant(p)
	w.passes(2)
	require.Equal(t, 1400, w.mtu())
	require.NoError(t, w.server.Client.Delete(t.Context(), p))
	w.passes(2)
	require.Equal(t, condition.Pending, w.state("mtu"))
	require.Equal(t, 1400, w.mtu())
	w.grant(p)
	w.passes(3)
	require.Nil(t, w.enactment("mtu"))
	require.Equal(t, 1500, w.mtu())
	p.Finalizers = nil
	require.NoError(t, w.server.Client.Patch(t.Context(), p, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
}

func TestSelectorsFollowTheNodesLabels(t *testing.T) {
	w := newWorld(t)
	w.policy("rack-b", mtu1400, func(s *nmstatev1.NodeNetworkConfigurationPolicySpec) { s.NodeSelector = map[string]string{"rack": "b"} })
	w.pass()
	require.Nil(t, w.enactment("rack-b"))
	label := func(rack string) {
		require.NoError(t, w.server.Client.Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name}},
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"rack":"`+rack+`"}}}`))))
	}
	label("b")
	w.pass()
	require.Equal(t, condition.Pending, w.state("rack-b"))
	label("c")
	w.pass()
	require.Nil(t, w.enactment("rack-b"))
}

func TestTemplateValuesAreOfTheNode(t *testing.T) {
	w := newWorld(t)
	p := w.policy("address", `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":"{{ values.mtu }}","ipv4":{"enabled":true,`+
		`"dhcp":false,"address":[{"ip":"192.0.2.10","prefix-length":24},{"ip":"{{ values.storage }}","prefix-length":"{{values.storage-prefix}}"}]}}]}`,
		func(s *nmstatev1.NodeNetworkConfigurationPolicySpec) {
			s.TemplateValues = []nmstatev1.TemplateValue{
				{Name: "mtu", Label: "mtu"},
				{Name: "storage", Address: &nmstatev1.AddressFrom{Namespace: "default", Pool: "storage"}},
			}
		})
	w.pass()
	w.grant(p)
	w.pass()
	e := w.enactment("address")
	require.Equal(t, condition.Pending, w.state("address"))
	require.Contains(t, e.Status.Conditions[3].Message, "Waiting for label mtu of node node-a")
	e.Annotations[nmstatev1beta1.ValuesAnnotation] = `{"storage":"198.51.100.7","storage-prefix":"24"}`
	require.NoError(t, w.server.Client.Update(t.Context(), e))
	require.NoError(t, w.server.Client.Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name}},
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"mtu":"1350"}}}`))))
	w.passes(2)
	require.Equal(t, condition.Available, w.state("address"), "%+v", w.enactment("address").Status)
	require.Equal(t, 1350, w.mtu())
	require.Contains(t, string(w.enactment("address").Status.DesiredState.Raw), "198.51.100.7")
}

func TestDriftIsReportedAndCorrectedIfThePolicySaysSo(t *testing.T) {
	for onDrift, want := range map[nmstatev1.OnDrift]int{nmstatev1.OnDriftReport: 1300, nmstatev1.OnDriftCorrect: 1400} {
		t.Run(string(onDrift), func(t *testing.T) {
			w := newWorld(t)
			p := w.policy("mtu", mtu1400, func(s *nmstatev1.NodeNetworkConfigurationPolicySpec) { s.OnDrift = onDrift })
			w.pass()
			w.grant(p)
			w.passes(2)
			changed, err := netstate.Decode([]byte(mtu1300))
			require.NoError(t, err)
			require.NoError(t, w.node.ChangeNetwork(changed))
			w.pass()
			if onDrift == nmstatev1.OnDriftReport {
				drift := w.enactment("mtu").Status.Drift
				require.NotNil(t, drift)
				require.Equal(t, "1400", drift.Mismatches[0].Want)
				require.Equal(t, "1300", drift.Mismatches[0].Got)
				require.Equal(t, condition.Available, w.state("mtu"))
				require.Contains(t, events(t, w), "NetworkDrift")
			}
			w.passes(5)
			require.Equal(t, want, w.mtu())
		})
	}
}

// The policy is in force while the network does not answer, and the enactment says so.
func TestANetworkThatDoesNotAnswerIsSaid(t *testing.T) {
	w := newWorld(t)
	p := w.policy("lease", `{"interfaces":[{"name":"eth9","type":"dummy","state":"up","ipv4":{"enabled":true,"dhcp":true}}]}`, nil)
	w.pass()
	w.grant(p)
	w.passes(3)
	require.Equal(t, condition.Available, w.state("lease"), "%+v", w.enactment("lease").Status)
	for _, c := range w.enactment("lease").Status.Conditions {
		if c.Type == nmstatev1beta1.EnactmentAvailable {
			require.Equal(t, condition.MessageAvailable+"; eth9: no DHCP answer yet", c.Message)
		}
	}
}

// Two policies are enacted one after the other, by name.
func TestANodeEnactsOnePolicyAtATime(t *testing.T) {
	w := newWorld(t)
	a, b := w.policy("a", mtu1400, nil), w.policy("b", mtu1300, nil)
	w.pass()
	w.grant(b)
	w.grant(a)
	w.pass()
	require.Equal(t, condition.Progressing, w.state("a"))
	require.Equal(t, condition.Pending, w.state("b"))
	w.passes(3)
	require.Equal(t, condition.Available, w.state("b"))
	require.NotNil(t, w.enactment("a").Status.Drift, "the two contradict each other")
}

func TestAnotherAgentsNodeIsLeftAlone(t *testing.T) {
	shared.Server(t)
	w := newWorld(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nmstate-handler-x",
		Labels: map[string]string{nmstatev1.HandlerLabelKey: nmstatev1.HandlerLabelValue}},
		Spec: corev1.PodSpec{NodeName: w.name, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	require.NoError(t, w.server.Client.Create(t.Context(), pod))
	w.policy("mtu", mtu1400, nil)
	require.Equal(t, whileHandled, w.pass().RequeueAfter)
	require.Nil(t, w.enactment("mtu"))
	require.NoError(t, w.server.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	w.now = w.now.Add(time.Minute)
	w.pass()
	require.Equal(t, condition.Pending, w.state("mtu"))
}

// The agent may die at any moment: another one continues from the node's records.
func TestARestartedAgentContinues(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, nil)
	for range 2 {
		w.r = w.reconciler(nil)
		w.pass()
	}
	w.grant(p)
	for range 4 {
		w.r = w.reconciler(nil)
		w.pass()
	}
	require.Equal(t, condition.Available, w.state("mtu"))
	// An administrator undoes it on the node.
	c, err := newestChange(t, w)
	require.NoError(t, err)
	require.NoError(t, netpolicy.Prepare(t.Context(), operation.Intake{Files: w.node.Files(), Boots: w.node.Power(), Log: slog.New(slog.DiscardHandler)}, netpolicy.Request{OperationID: "29990101-000000-0001", Action: netpolicy.ActionUndo,
		Policy: c.Policy, Document: c.Revert, Undoes: c.Operation}))
	w.r = w.reconciler(nil)
	w.passes(3)
	require.Equal(t, condition.Aborted, w.state("mtu"))
	require.Equal(t, 1500, w.mtu())
}

// An enactment that holds until the reboot is applied again after it.
func TestAnEphemeralPolicyReturnsAfterAReboot(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, func(s *nmstatev1.NodeNetworkConfigurationPolicySpec) { s.Persistence = nmstatev1.PersistenceEphemeral })
	w.pass()
	w.grant(p)
	w.passes(2)
	require.Equal(t, condition.Available, w.state("mtu"))
	require.NoError(t, w.node.Boot(t.Context()))
	require.Equal(t, 1500, w.mtu())
	w.r = w.reconciler(nil)
	w.passes(3)
	require.Equal(t, condition.Available, w.state("mtu"))
	require.Equal(t, 1400, w.mtu())
}

func events(t *testing.T, w *world) (reasons []string) {
	t.Helper()
	var list eventsv1.EventList
	require.NoError(t, w.server.Client.List(t.Context(), &list))
	for _, e := range list.Items {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

// newestChange is the change that "network undo" would undo.
func newestChange(t *testing.T, w *world) (record.Change, error) {
	t.Helper()
	all, err := netpolicyRecord(w).History()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all[0], nil
}
