package operation_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// journal writes the journal of an operation that ran a flow.
func journal(t *testing.T, files host.Files, id, name string) {
	t.Helper()
	line, err := json.Marshal(flow.Entry{Version: flow.SchemaVersion, Operation: id, Flow: name, Kind: flow.KindBegin})
	require.NoError(t, err)
	require.NoError(t, files.Write(operation.JournalPath(id), append(line, '\n'), 0o600))
}

// TestEachKindKeepsItsOwnRecords prunes one kind: the oldest of it are removed, and nothing of another kind, of a stateroot's
// maker, of what is spared, or of what does not say its kind.
func TestEachKindKeepsItsOwnRecords(t *testing.T) {
	const maker, other, spared, damaged = "19990101-000000-0001", "19990101-000000-0002", "19990101-000000-0003", "19990101-000000-0004"
	files := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos_ipc-" + maker}).Files()
	journal(t, files, maker, "mine")
	journal(t, files, other, "theirs")
	journal(t, files, spared, "mine")
	require.NoError(t, files.Write(operation.JournalPath(damaged), []byte("\x00"), 0o600))
	require.NoError(t, files.Write(operation.EvidencePath(other)+"/"+operation.BundleIndex, []byte("{}"), 0o600))
	for i := range 12 {
		journal(t, files, fmt.Sprintf("20260101-0000%02d-0000", i), "mine")
	}
	for range 2 {
		require.NoError(t, operation.Prune(files, []string{"first", "mine"}, spared))
		ids, err := operation.List(files)
		require.NoError(t, err)
		require.Subset(t, ids, []string{maker, other, spared, damaged})
		require.Len(t, ids, 14)
		require.NotContains(t, ids, "20260101-000001-0000")
		require.Contains(t, ids, "20260101-000002-0000")
		require.Len(t, operation.Records(files, other), 2)
	}
}
