package netpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

func (w *world) bridge(t *testing.T) netstate.Interface {
	t.Helper()
	d, err := w.node.Network().Observe(t.Context())
	require.NoError(t, err)
	i, ok := d.Find("br-ex", netstate.TypeOVSInterface)
	require.True(t, ok)
	return i
}

// TestADroppedKeyIsRestored where the policy is for machine config pools, once and by key; a policy for nodes leaves it, as
// kubernetes-nmstate does.
func TestADroppedKeyIsRestored(t *testing.T) {
	const both = `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1400,"ipv4":{"enabled":true,"dhcp":false,` +
		`"address":[{"ip":"192.0.2.10","prefix-length":24},{"ip":"192.0.2.11","prefix-length":24}]}}]}`
	const addresses = `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","ipv4":{"enabled":true,"dhcp":false,` +
		`"address":[{"ip":"192.0.2.10","prefix-length":24},{"ip":"192.0.2.11","prefix-length":24}]}}]}`
	for name, c := range map[string]struct {
		pools bool
		mtu   int
	}{"for pools": {true, 1500}, "for nodes": {false, 1400}} {
		t.Run(name, func(t *testing.T) {
			w, store := newWorld(false), record.Store{}
			store.Files = w.node.Files()
			first := netpolicy.Request{Action: netpolicy.ActionApply, Policy: "base", UID: "u0", Generation: 1, Attempt: 1,
				Document: `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1500}]}`}
			require.Equal(t, netpolicy.ResultChanged, w.enact(t, first).Result)
			ask := w.ask
			ask.Document = both
			require.Equal(t, netpolicy.ResultChanged, w.enact(t, ask).Result)
			require.Equal(t, 1400, w.bridge(t).MTU)
			in, err := store.Committed(policy)
			require.NoError(t, err)

			ask.Generation, ask.Document, ask.Revert = 2, addresses, in.Revert
			if c.pools {
				ask.Last = in.Document
			}
			o := w.enact(t, ask)
			require.Contains(t, []string{netpolicy.ResultChanged, netpolicy.ResultUnchanged}, o.Result, "%+v", o.Evidence)
			require.Equal(t, c.mtu, w.bridge(t).MTU)
			require.Len(t, w.bridge(t).IPv4.Addresses, 2)

			in, err = store.Committed(policy)
			require.NoError(t, err)
			require.NotContains(t, in.Document, "mtu", "the record has the policy's own document")
			require.Equal(t, !c.pools, netpolicyMentions(t, in.Revert, 1500), "what was restored is not restored again")
			require.Contains(t, in.Revert, "192.0.2.10")
		})
	}
}

func netpolicyMentions(t *testing.T, document string, mtu int) bool {
	t.Helper()
	d, err := netstate.Decode([]byte(document))
	require.NoError(t, err)
	i, _ := d.Find("br-ex", netstate.TypeOVSInterface)
	return i.MTU == mtu
}

// TestALaterKeyOfTheSameInterfaceIsReverted, too: the way back is by key.
func TestALaterKeyOfTheSameInterfaceIsReverted(t *testing.T) {
	w := newWorld(false)
	base := netpolicy.Request{Action: netpolicy.ActionApply, Policy: "base", UID: "u0", Generation: 1, Attempt: 1,
		Document: `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1500}]}`}
	require.Equal(t, netpolicy.ResultChanged, w.enact(t, base).Result)
	require.Equal(t, netpolicy.ResultChanged, w.enact(t, w.ask).Result)
	second := w.ask
	second.Generation, second.Document = 2, `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1400}]}`
	require.Equal(t, netpolicy.ResultChanged, w.enact(t, second).Result)
	require.NoError(t, w.Again())
	require.Equal(t, 1500, w.bridge(t).MTU)
}
