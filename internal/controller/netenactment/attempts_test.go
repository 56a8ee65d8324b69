package netenactment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// attempts is how often the present generation of a policy was tried.
func (w *world) attempts(policy string) int { return w.enactment(policy).Status.RetryCount["1"] }

// The same document on the same network fails again: it is not tried again, and holds no other policy up.
func TestAFailedDocumentIsNotTriedAgain(t *testing.T) {
	w := newWorld(t)
	gate, mtu := w.policy("gate", badGate, nil), w.policy("mtu", mtu1400, nil)
	w.pass()
	w.grant(gate)
	w.grant(mtu)
	w.passes(4)
	require.Equal(t, condition.Available, w.state("mtu"), "right after the first failure")
	require.Equal(t, condition.Failed, w.state("gate"))
	version := w.enactment("gate").ResourceVersion
	w.passes(5)
	require.Equal(t, 1, w.attempts("gate"))
	require.Equal(t, version, w.enactment("gate").ResourceVersion, "what failed is over")
}

// A card appears, another policy configures what this one rests on: the document has another chance.
func TestAFailedDocumentIsTriedAgainWhenItsLinksChange(t *testing.T) {
	w := newWorld(t)
	p := w.policy("gate", badGate, nil)
	w.pass()
	w.grant(p)
	w.passes(2)
	require.Equal(t, condition.Failed, w.state("gate"))
	w.change(`{"interfaces":[{"name":"dummy7","type":"dummy","state":"up"}]}`)
	w.passes(int(dependencySettles.Seconds()) + 5)
	require.Equal(t, 1, w.attempts("gate"), "a link that it does not name")
	w.change(mtu1300)
	w.pass()
	require.Equal(t, 1, w.attempts("gate"), "links may still be coming up")
	w.passes(int(dependencySettles.Seconds()) + 5)
	require.Equal(t, condition.Failed, w.state("gate"))
	require.Equal(t, 2, w.attempts("gate"), "the link that it names")
	w.passes(60)
	require.Equal(t, 2, w.attempts("gate"), "and that once")
}

// A capture that selects nothing selects something later.
func TestACaptureIsEvaluatedAgainWhenTheNetworkChanges(t *testing.T) {
	w := newWorld(t)
	p := w.policy("capture", `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":"{{ capture.d.interfaces.0.mtu }}"}]}`,
		func(s *nmstatev1.NodeNetworkConfigurationPolicySpec) {
			s.Capture = map[string]string{"d": `interfaces.name == "dummy7"`}
		})
	w.pass()
	w.grant(p)
	w.passes(2)
	require.Equal(t, condition.Failed, w.state("capture"))
	require.Equal(t, "Resolve", w.enactment("capture").Status.Failure.Phase)
	w.change(`{"interfaces":[{"name":"dummy7","type":"dummy","state":"up","mtu":1400}]}`)
	w.passes(int(dependencySettles.Seconds()) + 5)
	require.Equal(t, condition.Available, w.state("capture"), w.message("capture"))
	require.Equal(t, 1400, w.mtu())
}

// NetworkManager is away: the document is tried again by itself, five times in all, after those that were not tried yet.
func TestAFailureThatPassesIsRetried(t *testing.T) {
	w := newWorld(t)
	a := w.policy("a", mtu1400, nil)
	w.pass()
	w.grant(a)
	w.node.StopManager()
	for range 10 {
		if w.pass(); w.state("a") == condition.Retrying {
			break
		}
	}
	require.Equal(t, condition.Retrying, w.state("a"), w.message("a"))
	require.Contains(t, w.message("a"), "NetworkManager is not running")
	require.Contains(t, w.message("a"), "Retrying 2/5")
	w.node.StartManager()
	w.passes(10)
	require.Equal(t, condition.Available, w.state("a"), w.message("a"))

	b := w.policy("b", mtu1300, nil)
	w.pass()
	w.grant(b)
	w.node.StopManager()
	for range 200 {
		if w.pass(); w.state("b") == condition.Failed {
			break
		}
	}
	require.Equal(t, condition.Failed, w.state("b"), w.message("b"))
	require.Equal(t, maxAttempts, w.attempts("b"))
	w.passes(60)
	require.Equal(t, maxAttempts, w.attempts("b"), "no more than that")
	w.node.StartManager()
	w.passes(60)
	require.Equal(t, condition.Available, w.state("b"), "the network can be observed again: %s", w.message("b"))
}

// An administrator has a change on trial: the policy is tried again when its time is over, not five times meanwhile.
func TestAChangeThatWaitsForItsCommitIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, nil)
	w.pass()
	other, err := netstate.Decode([]byte(mtu1300))
	require.NoError(t, err)
	pending, err := w.node.NetworkTransaction().Begin(t.Context(), other, 2*time.Minute)
	require.NoError(t, err)
	require.True(t, pending)
	w.grant(p)
	w.passes(90)
	require.Equal(t, condition.Retrying, w.state("mtu"), w.message("mtu"))
	require.Equal(t, 1, w.attempts("mtu"))
	require.Equal(t, 1300, w.mtu())
	require.NoError(t, w.node.NetworkTransaction().Commit(t.Context()))
	w.passes(60)
	require.Equal(t, condition.Available, w.state("mtu"), w.message("mtu"))
	require.Equal(t, 1400, w.mtu())
}
