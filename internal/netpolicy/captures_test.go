package netpolicy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
)

// captured is for the interface of the default route. A bridge and its own interface have one name; the interface is the second.
func captured() netpolicy.Request {
	return netpolicy.Request{
		Action: netpolicy.ActionApply, Policy: policy, UID: "u1", Generation: 1, Attempt: 1,
		Captures: map[string]string{
			"gw":   `routes.running.destination == "0.0.0.0/0"`,
			"base": `interfaces.name == capture.gw.routes.running.0.next-hop-interface`,
		},
		Document: `{"interfaces":[{"name":"{{ capture.base.interfaces.1.name }}","type":"{{ capture.base.interfaces.1.type }}",` +
			`"state":"up","mtu":1400,"ipv4":"{{ capture.base.interfaces.1.ipv4 }}"}]}`,
	}
}

// The document holds what differs from before the policy, in every generation: what was captured and is as it was is no part
// of it, and a policy that is in force asks for no less than it did.
func TestCapturesAreEvaluatedOnce(t *testing.T) {
	w := newWorld(false)
	store := record.Store{Files: w.node.Files()}
	other := netpolicy.Request{Action: netpolicy.ActionApply, Policy: "mtu", UID: "u2", Generation: 1, Attempt: 1,
		Document: `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1500}]}`}
	require.Equal(t, netpolicy.ResultChanged, w.enact(t, other).Result)
	ask := captured()
	o := w.enact(t, ask)
	require.Equal(t, netpolicy.ResultChanged, o.Result, "%+v", o.Evidence)
	first, err := store.Committed(policy)
	require.NoError(t, err)
	require.Contains(t, first.Document, "mtu: 1400")
	require.NotContains(t, first.Document, "ipv4")
	require.Contains(t, first.Captured["base"], "br-ex")

	ask.Generation, ask.Captured, ask.Revert = 2, first.Captured, first.Revert
	o = w.enact(t, ask)
	require.Equal(t, netpolicy.ResultUnchanged, o.Result, "%+v", o.Evidence)
	second, err := store.Committed(policy)
	require.NoError(t, err)
	require.Equal(t, first.Document, second.Document)
	require.Equal(t, first.Revert, second.Revert)
	require.Equal(t, first.Captured, second.Captured)
}

// A capture that finds nothing may find something later; one that cannot be read stays wrong.
func TestOnlyWhatStaysWrongIsPermanent(t *testing.T) {
	w := newWorld(false)
	ask := captured()
	ask.Captures["gw"] = `routes.running.destination == "203.0.113.0/24"`
	o := w.enact(t, ask)
	require.Equal(t, netpolicy.PhaseResolve, o.Evidence.Phase, "%+v", o.Evidence)
	require.False(t, o.Evidence.Permanent())

	ask.Captures["gw"] = `routes.running.destination ==`
	o = w.enact(t, ask)
	require.Equal(t, netpolicy.PhaseValidate, o.Evidence.Phase, "%+v", o.Evidence)
	require.True(t, o.Evidence.Permanent())
}

// A setting that the node had no value of before the policy stays in the document of later generations, also
// where they change it.
func TestWhatHadNoValueBeforeStaysInTheDocument(t *testing.T) {
	w := newWorld(false)
	store := record.Store{Files: w.node.Files()}
	ask := captured()
	o := w.enact(t, ask)
	require.Equal(t, netpolicy.ResultChanged, o.Result, "%+v", o.Evidence)
	first, err := store.Committed(policy)
	require.NoError(t, err)
	require.Contains(t, first.Document, "mtu: 1400")

	ask.Generation, ask.Captured, ask.Revert, ask.Before = 2, first.Captured, first.Revert, first.Before
	o = w.enact(t, ask)
	require.Equal(t, netpolicy.ResultUnchanged, o.Result, "%+v", o.Evidence)
	second, err := store.Committed(policy)
	require.NoError(t, err)
	require.Equal(t, first.Document, second.Document)
	require.Equal(t, first.Before, second.Before)

	ask.Generation, ask.Captured, ask.Revert, ask.Before = 3, second.Captured, second.Revert, second.Before
	ask.Document = strings.Replace(ask.Document, `1400`, `1300`, 1)
	o = w.enact(t, ask)
	require.Equal(t, netpolicy.ResultChanged, o.Result, "%+v", o.Evidence)
	third, err := store.Committed(policy)
	require.NoError(t, err)
	require.Contains(t, third.Document, "mtu: 1300")
	require.Equal(t, first.Before, third.Before, "what was there before the policy is not what its first generation made of it")
}
