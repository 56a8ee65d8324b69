package netenactment

import (
	"context"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// inForce has a policy applied.
func (w *world) inForce(name, document string, edit func(*nmstatev1.NodeNetworkConfigurationPolicySpec)) *nmstatev1.NodeNetworkConfigurationPolicy {
	w.t.Helper()
	p := w.policy(name, document, edit)
	w.pass()
	w.grant(p)
	w.passes(2)
	require.Equal(w.t, condition.Available, w.state(name))
	return p
}

// profiles are NetworkManager's, by path.
func (w *world) profiles() map[string][]byte {
	w.t.Helper()
	all := map[string][]byte{}
	names, err := w.node.Files().List(host.NMConnections)
	require.NoError(w.t, err)
	for _, name := range names {
		file := path.Join(host.NMConnections, name)
		data, err := w.node.Files().Read(file)
		require.NoError(w.t, err)
		all[file] = data
	}
	return all
}

// rebootInto restarts the node with these profiles, and its agent.
func (w *world) rebootInto(profiles map[string][]byte) {
	w.t.Helper()
	for file, data := range profiles {
		require.NoError(w.t, w.node.Files().Write(file, data, 0o600))
	}
	require.NoError(w.t, w.node.Boot(w.t.Context()))
	w.r = w.reconciler(nil)
}

func (w *world) message(policy string) string {
	for _, c := range w.enactment(policy).Status.Conditions {
		if c.Status == "True" {
			return c.Message
		}
	}
	return ""
}

func (w *world) change(document string) {
	w.t.Helper()
	d, err := netstate.Decode([]byte(document))
	require.NoError(w.t, err)
	require.NoError(w.t, w.node.ChangeNetwork(d))
}

// A boot without the policy's network is not reported as configured: it is given time to come up, and then the policy is applied again.
func TestWhatABootHasUndoneIsAppliedAgain(t *testing.T) {
	w := newWorld(t)
	before := w.profiles()
	w.inForce("mtu", mtu1400, nil)
	w.rebootInto(before)
	require.Equal(t, 1500, w.mtu())
	w.pass()
	require.Equal(t, condition.Pending, w.state("mtu"))
	require.Contains(t, w.message("mtu"), "Waiting for the network of this boot: interfaces[br-ex].mtu is 1500 instead of 1400")
	require.Equal(t, 1500, w.mtu(), "links may still be coming up")
	for range int(settleAfterBoot.Seconds()) + 5 {
		w.pass()
	}
	require.Equal(t, condition.Available, w.state("mtu"), w.message("mtu"))
	require.Equal(t, 1400, w.mtu())
	require.Contains(t, events(t, w), "NetworkLost")
	e := w.enactment("mtu")
	require.False(t, w.r.newlyLost(&observation{boot: "b"}, &policyView{name: "other", committed: &record.Committed{},
		compared: comparison{is: netpolicy.StandingInForce}}, decision{state: condition.Pending}))
	lost := &policyView{name: e.Labels[nmstatev1.PolicyLabel], committed: &record.Committed{},
		compared: comparison{is: netpolicy.StandingLost}}
	for n, boot := range []string{"b", "b", "c", "c"} { // whatever else of the network comes or goes meanwhile
		lost.compared.differ = append(lost.compared.differ, netpolicy.Mismatch{Key: boot})
		require.Equal(t, n%2 == 0, w.r.newlyLost(&observation{boot: boot}, lost, decision{state: condition.Pending}), "one event in each boot")
	}
}

// A boot that has the policy's network confirms it. What changes later in that boot is drift, which the policy only reports.
func TestADocumentOfThisBootDrifts(t *testing.T) {
	w := newWorld(t)
	w.inForce("mtu", mtu1400, nil)
	w.rebootInto(nil)
	w.pass()
	require.Equal(t, condition.Available, w.state("mtu"))
	w.change(mtu1300)
	for range int(settleAfterBoot.Seconds()) + 5 {
		w.pass()
	}
	require.Equal(t, condition.Available, w.state("mtu"))
	require.NotNil(t, w.enactment("mtu").Status.Drift)
	require.Equal(t, 1300, w.mtu())
}

// Drift that was reported before a reboot is drift after it.
func TestDriftOutlivesAReboot(t *testing.T) {
	w := newWorld(t)
	before := w.profiles() // the drift is persistent: an administrator wrote it to disk
	w.inForce("mtu", mtu1400, nil)
	w.change(`{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1500}]}`)
	w.pass()
	require.NotNil(t, w.enactment("mtu").Status.Drift)
	w.rebootInto(before)
	for range int(settleAfterBoot.Seconds()) + 5 {
		w.pass()
	}
	require.Equal(t, condition.Available, w.state("mtu"))
	require.Equal(t, 1500, w.mtu(), "onDrift is Report")
}

// pivot makes the node one that was booted into a clone of its stateroot, whose network an operation configured with the document.
func (w *world) pivot(configured string, before map[string][]byte) {
	w.t.Helper()
	c, err := netpolicyRecord(w).Committed("mtu")
	require.NoError(w.t, err)
	require.NoError(w.t, netpolicyRecord(w).Confirm(c, c.Boot, "the-former"))
	if configured != "" {
		require.NoError(w.t, w.node.Files().Write(bringup.ConfiguredFile, []byte(configured), 0o600))
	}
	w.rebootInto(before)
}

// An operation on the whole node has configured the new stateroot: a policy from before leaves it alone until it is edited.
func TestAPolicyDoesNotOverwriteANewStateroot(t *testing.T) {
	const mtu1500 = `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1500}]}`
	w := newWorld(t)
	before := w.profiles()
	p := w.inForce("mtu", mtu1400, func(s *nmstatev1.NodeNetworkConfigurationPolicySpec) { s.OnDrift = nmstatev1.OnDriftCorrect })
	w.pivot(mtu1500, before)
	for range int(settleAfterBoot.Seconds()) + 5 {
		w.pass()
	}
	require.Equal(t, condition.Aborted, w.state("mtu"))
	require.Contains(t, w.message("mtu"), "Stateroot rhcos was configured otherwise after the policy was applied")
	require.Contains(t, w.message("mtu"), "interfaces[br-ex].mtu is 1400 instead of 1500")
	require.Equal(t, 1500, w.mtu())
	require.Contains(t, events(t, w), "NetworkSuperseded")

	w.edit(p, mtu1300)
	w.pass()
	w.grant(p)
	w.passes(3)
	require.Equal(t, condition.Available, w.state("mtu"), w.message("mtu"))
	require.Equal(t, 1300, w.mtu())
}

// The end of such a policy does not restore what the former stateroot had before it.
func TestASupersededPolicyIsNotReverted(t *testing.T) {
	const mtu1350 = `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1350}]}`
	w := newWorld(t)
	p := w.inForce("mtu", mtu1400, func(s *nmstatev1.NodeNetworkConfigurationPolicySpec) { s.OnDelete = nmstatev1.OnDeleteRevert })
	p.Finalizers = []string{nmstatev1.RevertFinalizer}
	require.NoError(t, w.server.Client.Update(t.Context(), p))
	want, err := netstate.Decode([]byte(mtu1350))
	require.NoError(t, err)
	require.NoError(t, w.node.Network().Apply(t.Context(), want, nil))
	w.pivot(mtu1350, nil)
	w.pass()
	require.NoError(t, w.server.Client.Delete(t.Context(), p))
	w.passes(2)
	require.Nil(t, w.enactment("mtu"), "nothing is left to revert")
	require.Equal(t, 1350, w.mtu())
	require.NoError(t, w.server.Client.Patch(t.Context(), p, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
}

// An edited policy begins anew in the new stateroot: what it captures, and its way back, are of the network that is there.
func TestASupersededPolicyThatIsEditedBeginsAnew(t *testing.T) {
	const mtu1350 = `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1350}]}`
	w := newWorld(t)
	p := w.inForce("mtu", mtu1400, func(s *nmstatev1.NodeNetworkConfigurationPolicySpec) {
		s.Capture = map[string]string{"bridge": `interfaces.name == "br-ex"`}
	})
	want, err := netstate.Decode([]byte(mtu1350))
	require.NoError(t, err)
	require.NoError(t, w.node.Network().Apply(t.Context(), want, nil))
	w.pivot(mtu1350, nil)
	w.passes(int(settleAfterBoot.Seconds()) + 5)
	require.Equal(t, condition.Aborted, w.state("mtu"))
	w.edit(p, mtu1300)
	w.pass()
	w.grant(p)
	w.passes(3)
	require.Equal(t, condition.Available, w.state("mtu"), w.message("mtu"))
	c, err := netpolicyRecord(w).Committed("mtu")
	require.NoError(t, err)
	require.Equal(t, "rhcos", c.Stateroot)
	require.Contains(t, c.Captured["bridge"], "mtu: 1350")
	require.Contains(t, c.Before, "mtu: 1350")
	require.Contains(t, c.Revert, "mtu: 1350")
}

// What the new stateroot was not configured with is the policy's, as before.
func TestAPolicyReturnsToANewStateroot(t *testing.T) {
	w := newWorld(t)
	before := w.profiles()
	w.inForce("mtu", mtu1400, nil)
	w.pivot(`{"dns-resolver":{"config":{"server":["192.0.2.53"]}}}`, before)
	for range int(settleAfterBoot.Seconds()) + 5 {
		w.pass()
	}
	require.Equal(t, condition.Available, w.state("mtu"), w.message("mtu"))
	require.Equal(t, 1400, w.mtu())
	c, err := netpolicyRecord(w).Committed("mtu")
	require.NoError(t, err)
	require.Equal(t, "rhcos", c.Stateroot)
}

// A record that cannot be compared with the network, as one of a newer version, is no reason to leave other policies alone.
func TestARecordThatCannotBeReadConcernsItsPolicyAlone(t *testing.T) {
	w := newWorld(t)
	w.inForce("a", `{"routes":{"config":[]}}`, nil)
	c, err := netpolicyRecord(w).Committed("a")
	require.NoError(t, err)
	c.Document = `{"a-key-of-a-newer-version":1}`
	require.NoError(t, netpolicyRecord(w).Commit(c))
	w.rebootInto(nil)
	p := w.policy("mtu", mtu1400, nil)
	var last error
	turn := func() {
		t.Helper()
		require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error {
			_, last = w.r.Reconcile(ctx, reconcile.Request{})
			return nil
		}))
		require.NoError(t, w.node.Settle(t.Context(), 1))
		w.now = w.now.Add(time.Second)
	}
	turn()
	w.grant(p)
	turn()
	turn()
	require.Equal(t, condition.Available, w.state("mtu"))
	require.Equal(t, 1400, w.mtu())
	require.ErrorContains(t, last, "compare the record of policy a with the network")

	require.NoError(t, w.server.Client.Get(t.Context(), client.ObjectKey{Name: "a"}, p))
	w.edit(p, `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up"}]}`)
	turn()
	w.grant(p)
	turn()
	turn()
	require.NoError(t, last, "an edit of the policy makes another record")
	require.Equal(t, condition.Available, w.state("a"))
}
