package ipconfig_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// scribe writes journals by hand.
type scribe struct {
	t     *testing.T
	files host.Files
	now   time.Time
}

func (s *scribe) write(path, boot, flowName string, kinds ...flow.Kind) {
	for i, k := range kinds {
		s.now = s.now.Add(time.Second)
		e := flow.Entry{Version: flow.SchemaVersion, Seq: i + 1, Time: s.now, Boot: boot, Flow: flowName, Kind: k, Operation: "op"}
		if k == flow.KindIntent || k == flow.KindDone {
			e.Step, e.Title = flowName+"-step", "Do it"
		}
		line, err := json.Marshal(e)
		require.NoError(s.t, err)
		require.NoError(s.t, s.files.Append(path, append(line, '\n'), 0o600))
	}
}

// TestProgressDoesNotDependOnTheClock sets the clock back by a day while post-pivot runs, as the first
// answer of a time server does on a site whose clock was never right.
func TestProgressDoesNotDependOnTheClock(t *testing.T) {
	s := &scribe{t: t, files: hosttest.NewNode(hosttest.Options{}).Files(), now: time.Unix(1e9, 0).UTC()}
	own := operation.JournalPath("op")
	s.write(own, "2", ipconfig.FlowPostPivot, flow.KindBegin, flow.KindIntent)
	s.now = s.now.AddDate(0, 0, -1)
	s.write(own, "2", ipconfig.FlowPostPivot, flow.KindDone, flow.KindFinished)
	p, err := ipconfig.ReadProgress(s.files, "op")
	require.NoError(t, err)
	require.True(t, p.PostPivot.Finished, "it was finished after it was begun, whatever the clock says")
	require.Equal(t, ipconfig.FlowPostPivot, p.Latest)
}

func TestBothPartsOfAJournalKeepTheirOrder(t *testing.T) {
	s := &scribe{t: t, files: hosttest.NewNode(hosttest.Options{}).Files(), now: time.Unix(1e9, 0).UTC()}
	own, other := operation.JournalPath("op"), operation.PivotedJournalPath("op")
	s.write(own, "1", ipconfig.FlowPrePivot, flow.KindBegin, flow.KindIntent)
	copied, err := s.files.Read(own)
	require.NoError(t, err)
	require.NoError(t, s.files.Write(other, copied, 0o600))
	s.write(own, "1", ipconfig.FlowPrePivot, flow.KindDone, flow.KindCommitted)
	s.now = s.now.AddDate(0, 0, -1)
	s.write(other, "2", ipconfig.FlowPostPivot, flow.KindBegin, flow.KindIntent)
	s.write(other, "2", ipconfig.FlowRollback, flow.KindBegin, flow.KindIntent)
	s.now = s.now.AddDate(0, 0, -1)
	s.write(own, "3", ipconfig.FlowCleanup, flow.KindBegin)
	entries, err := operation.ReadEntries(s.files, "op")
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Flow+" "+string(e.Kind))
	}
	require.Equal(t, []string{"pre-pivot begin", "pre-pivot intent", "pre-pivot done", "pre-pivot committed",
		"post-pivot begin", "post-pivot intent", "rollback begin", "rollback intent", "cleanup begin"}, got)
}
