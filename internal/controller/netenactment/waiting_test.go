package netenactment

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// reason is that of the condition that is True.
func (w *world) reason(policy string) string {
	for _, c := range w.enactment(policy).Status.Conditions {
		if c.Status == "True" {
			return c.Reason
		}
	}
	return ""
}

// observed has the operator look at a policy.
func (w *world) observed(p *nmstatev1.NodeNetworkConfigurationPolicy, phase nmstatev1.RolloutPhase) {
	w.t.Helper()
	p.Status.ObservedGeneration, p.Status.Rollout = p.Generation, &nmstatev1.RolloutStatus{Phase: phase, Nodes: 3}
	require.NoError(w.t, w.server.Client.Status().Update(w.t.Context(), p))
}

// leased makes the lease of the operator; renew renews it.
func (w *world) leased() (renew func()) {
	w.t.Helper()
	w.r.OperatorLease = ktypes.NamespacedName{Namespace: "default", Name: "the-operator"}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "the-operator"}}
	require.NoError(w.t, w.server.Client.Create(w.t.Context(), lease))
	w.t.Cleanup(func() { require.NoError(w.t, w.server.Client.Delete(context.Background(), lease)) })
	return func() {
		at := metav1.NewMicroTime(w.now)
		lease.Spec.RenewTime = &at
		require.NoError(w.t, w.server.Client.Update(w.t.Context(), lease))
	}
}

// waits lets time go by in steps, in which the operator renews its lease if it runs.
func (w *world) waits(d time.Duration, renew func()) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(4 * time.Second) {
		if renew != nil {
			renew()
		}
		w.pass()
	}
}

// What an enactment without a grant waits for is said as it is: a limit only where the roll-out runs.
func TestTheReasonOfAWaitIsTrue(t *testing.T) {
	w := newWorld(t)
	renew := w.leased()
	p := w.policy("mtu", mtu1400, nil)
	w.pass()
	require.Equal(t, nmstatev1beta1.ReasonAwaitingOperator, w.reason("mtu"))
	version := w.enactment("mtu").ResourceVersion
	w.observed(p, nmstatev1.PhaseRolling)
	w.passes(5)
	require.Equal(t, version, w.enactment("mtu").ResourceVersion, "most waits are over before they are worth a write")
	for phase, reason := range map[nmstatev1.RolloutPhase]string{
		nmstatev1.PhaseRolling:          nmstatev1beta1.ReasonMaxUnavailableLimitReached,
		nmstatev1.PhaseSoaking:          nmstatev1beta1.ReasonRolloutHeld,
		nmstatev1.PhaseAwaitingApproval: nmstatev1beta1.ReasonRolloutHeld,
	} {
		w.observed(p, phase)
		w.waits(40*time.Second, renew)
		require.Equal(t, reason, w.reason("mtu"), phase)
	}
	require.Equal(t, condition.Pending, w.state("mtu"))
	w.grant(p)
	w.passes(2)
	require.Equal(t, condition.Available, w.state("mtu"))
}

// A node without an operator says so after a while, and no longer when one is there.
func TestAnEnactmentSaysThatNoOperatorRuns(t *testing.T) {
	w := newWorld(t)
	renew := w.leased()
	w.policy("mtu", mtu1400, nil)
	w.waits(4*time.Minute, renew)
	require.Equal(t, nmstatev1beta1.ReasonAwaitingOperator, w.reason("mtu"), "it runs, and has not come to this policy")
	w.waits(3*time.Minute, nil)
	require.Equal(t, nmstatev1beta1.ReasonOperatorNotRunning, w.reason("mtu"))
	require.Contains(t, w.message("mtu"), "lease default/the-operator has not been renewed since ")
	version := w.enactment("mtu").ResourceVersion
	w.waits(5*time.Minute, nil)
	require.Equal(t, version, w.enactment("mtu").ResourceVersion, "it is said once")
	w.waits(3*time.Minute, renew)
	require.Equal(t, nmstatev1beta1.ReasonAwaitingOperator, w.reason("mtu"))
}

// No operator was ever deployed.
func TestAnEnactmentSaysThatNoOperatorIsDeployed(t *testing.T) {
	w := newWorld(t)
	w.r.OperatorLease = ktypes.NamespacedName{Namespace: "default", Name: "none"}
	w.policy("mtu", mtu1400, nil)
	w.waits(3*time.Minute, nil)
	require.Equal(t, nmstatev1beta1.ReasonOperatorNotRunning, w.reason("mtu"))
	require.Contains(t, w.message("mtu"), "does not exist")
}

// A node that is at another policy names it.
func TestABusyNodeNamesThePolicy(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, nil)
	w.pass()
	w.grant(p)
	w.waiting()
	require.NoError(t, netpolicy.Prepare(t.Context(), operation.Intake{Files: w.node.Files(), Boots: w.node.Power(), Log: w.r.Log},
		netpolicy.Request{OperationID: "29990101-000000-0001", Action: netpolicy.ActionApply, Policy: "dns", Document: "{}"}))
	w.waits(40*time.Second, nil)
	require.Equal(t, nmstatev1beta1.ReasonNodeBusy, w.reason("mtu"))
	require.Contains(t, w.message("mtu"), "applies policy dns")
}

// An enactment that waits for another program's checkpoint says so, and until when.
func TestAnEnactmentNamesTheCheckpointThatItWaitsFor(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, nil)
	w.pass()
	w.grant(p)
	ends := w.now.Add(8 * time.Minute)
	w.node.Hold(host.NetworkTrial{ID: "/Checkpoint/1", Began: w.now, Ends: ends})
	enact := w.waiting()
	w.passes(10)
	require.Equal(t, condition.Progressing, w.state("mtu"))
	require.Contains(t, w.message("mtu"), "Waiting for the end of another program's change")
	require.Contains(t, w.message("mtu"), "until "+ends.UTC().Format(time.RFC3339))
	version := w.enactment("mtu").ResourceVersion
	w.passes(30)
	require.Equal(t, version, w.enactment("mtu").ResourceVersion, "it is said once")
	require.NoError(t, w.node.NetworkTrials().EndTrial(t.Context(), "/Checkpoint/1", true))
	enact()
	w.passes(90) // a unit that ends early is started again at growing intervals
	require.Equal(t, condition.Available, w.state("mtu"), w.message("mtu"))
}

// waiting has the process of an enactment wait until the returned function is called, as it does while another program has the network on
// trial.
func (w *world) waiting() (goOn func()) {
	waits := true
	w.node.Command("lca-cli network enact", func(ctx context.Context, _ []string) error {
		if waits {
			return nil
		}
		return netpolicy.Run(ctx, netpolicy.Ports{Node: w.node.Ports(), Clock: clock{w}, Log: w.r.Log}, operation.Instruments{})
	})
	return func() { waits = false }
}

// A value that is missing is no limit.
func TestAMissingValueIsTheReason(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":"{{ values.mtu }}"}]}`,
		func(s *nmstatev1.NodeNetworkConfigurationPolicySpec) {
			s.TemplateValues = []nmstatev1.TemplateValue{{Name: "mtu", Label: "mtu"}}
		})
	w.pass()
	w.grant(p)
	w.pass()
	require.Equal(t, nmstatev1beta1.ReasonValueMissing, w.reason("mtu"))
}
