package change_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// TestTheBootedStaterootKeepsItsJournal: a change that was kept years ago is over, however many changes were made and rolled
// back since, and whoever deploys another stateroot.
func TestTheBootedStaterootKeepsItsJournal(t *testing.T) {
	const kept = "20200101-000000-0000"
	w := newWorld(t)
	w.node = hosttest.NewNode(hosttest.Options{Stateroot: ipconfig.StaterootName(kept)})
	files := w.node.Files()
	finished := func(id string) {
		entry := flow.Entry{Version: flow.SchemaVersion, Operation: id, Flow: ipconfig.FlowCleanup, Kind: flow.KindBegin}
		line, err := json.Marshal(entry)
		require.NoError(t, err)
		require.NoError(t, files.Write(operation.JournalPath(id), append(line, '\n'), 0o600))
	}
	finished(kept)
	for i := range 12 {
		finished(fmt.Sprintf("20260101-0000%02d-0000", i))
	}
	require.NoError(t, change.CleanUpBare(t.Context(), w.ports()))
	names, err := files.List(operation.JournalDir)
	require.NoError(t, err)
	require.Len(t, names, 11)

	_, _, err = ipconfig.FindRequest(files, []host.Deployment{
		{Stateroot: ipconfig.StaterootName(kept), Booted: true}, {Stateroot: "rhcos_upgrade"},
	})
	require.ErrorIs(t, err, ipconfig.ErrNoRequest, "there is nothing to go back to")
}
