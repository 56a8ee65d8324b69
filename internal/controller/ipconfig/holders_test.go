package ipconfig

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/lock"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operations"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
	"github.com/lifecycle-agent/lifecycle-agent/internal/snapshot"
)

// TestWhatIsUnderWayOnTheNodeHoldsAChange: the agent's own lock counts each kind of operation that is unfinished, and says what it is
// and how to end it. The change begins when that has ended.
func TestWhatIsUnderWayOnTheNodeHoldsAChange(t *testing.T) {
	const id = "20260102-030405-0001"
	for name, c := range map[string]struct {
		request any
		facts   operation.Facts
		ends    string
	}{
		"a copy":        {snapshot.Request{OperationID: id}, snapshot.Kind(snapshot.Ports{}).Facts(), "'lca-cli stateroot abort'"},
		"a preparation": {relocation.Record{OperationID: id}, factory.Kind(factory.Ports{}).Facts(), "'lca-cli relocation abort'"},
		"a restore":     {restore.Request{OperationID: id}, restore.Kind(restore.Ports{}).Facts(), "'lca-cli seed abort'"},
		"an enactment": {netpolicy.Request{OperationID: id, Version: 1}, netpolicy.Kind(netpolicy.Ports{}).Facts(),
			"'systemctl stop " + netpolicy.Unit + "'"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			n := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"})
			w.r.Node.Lock = lock.New(t.TempDir(), operations.Reservations(n.Ports(), change.LockName)...)
			w.rest()
			require.NoError(t, operation.WriteJSON(n.Files(), c.facts.RequestFile, c.request))
			boot, err := n.Power().BootID(t.Context())
			require.NoError(t, err)
			written := 0
			entry := func(kind flow.Kind) {
				written++
				line, err := json.Marshal(flow.Entry{Version: flow.SchemaVersion, Seq: written, Time: w.now, Operation: id,
					Flow: c.facts.Name, Kind: kind, Boot: boot})
				require.NoError(t, err)
				require.NoError(t, n.Files().Append(operation.JournalPath(id), append(line, '\n'), 0o600))
			}
			entry(flow.KindBegin)
			ipc := w.change(toNewAddress)
			requireLast(t, ipc, "ConfigInProgress", no, "Blocked", "another operation holds this node: "+c.facts.Name+" "+id+" (unfinished")
			require.Contains(t, condition(ipc, "ConfigInProgress").Message, "; "+c.ends+" ends it")
			require.Empty(t, w.node.acts)
			entry(flow.KindFinished)
			_, held, err := w.r.Node.Lock.Holder(t.Context())
			require.NoError(t, err)
			require.False(t, held)
			w.rest()
			require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot))
		})
	}
}
