package netpolicy_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// TestEnactmentsLeaveTheRecordsOfOtherOperations: each retry of a policy is an operation of its own, so there are more of them than of
// anything else on a node. The journal and the evidence of a completed change stay.
func TestEnactmentsLeaveTheRecordsOfOtherOperations(t *testing.T) {
	const changed = "19990101-000000-beef"
	w := newWorld(false)
	line, err := json.Marshal(flow.Entry{Version: flow.SchemaVersion, Operation: changed, Flow: "pre-pivot", Kind: flow.KindBegin})
	require.NoError(t, err)
	require.NoError(t, w.node.Seed(operation.JournalPath(changed), append(line, '\n')))
	require.NoError(t, w.node.Seed(operation.EvidencePath(changed)+"/"+operation.BundleIndex, []byte("{}\n")))
	for range 11 {
		w.enact(t, w.ask)
	}
	require.Len(t, operation.Records(w.node.Files(), changed), 2)
	ids, err := operation.List(w.node.Files())
	require.NoError(t, err)
	require.Len(t, ids, 12, "ten enactments, the latest one and the change")
}

// TestTheJournalsOfOutcomesAreKept: an outcome says how the latest enactment of its policy ended, and its journal is the whole story.
func TestTheJournalsOfOutcomesAreKept(t *testing.T) {
	w := newWorld(false)
	r := w.ask
	r.Policy = "first"
	first := w.enact(t, r)
	for i := range 12 {
		r.Policy = fmt.Sprintf("other-%d", i)
		w.enact(t, r)
	}
	require.NotEmpty(t, operation.Records(w.node.Files(), first.Operation))
	require.NoError(t, netpolicy.ForgetOutcome(w.node.Files(), "first"))
	for range 12 {
		w.enact(t, r)
	}
	require.Empty(t, operation.Records(w.node.Files(), first.Operation))
}
