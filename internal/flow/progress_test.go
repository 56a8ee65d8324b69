package flow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

func TestProgressKnowsEveryFlowByItsJournalAlone(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	deadline := at.Add(time.Hour)
	p := flow.Fold("op", []flow.Entry{
		{Flow: "image", Kind: flow.KindBegin, Time: at, Attempt: 1, Total: 2, Boot: "b1"},
		{Flow: "image", Kind: flow.KindIntent, Step: "pack", Title: "Pack", Index: 1, Total: 2, Time: at.Add(time.Second), Boot: "b1"},
		{Flow: "image", Kind: flow.KindNote, Message: "size 3 GiB", Deadline: &deadline},
		{Flow: "image", Kind: flow.KindDone, Step: "pack", Title: "Pack", Index: 1, TookMS: 1500, Time: at.Add(2 * time.Second), Boot: "b1"},
		{Flow: "restore", Kind: flow.KindBegin, Time: at.Add(3 * time.Second), Attempt: 1, Total: 1, Boot: "b2"},
		{Flow: "restore", Kind: flow.KindIntent, Step: "unpack", Index: 1, Total: 1, Time: at.Add(4 * time.Second), Boot: "b2"},
	})
	require.Equal(t, []string{"image", "restore"}, p.Flows())
	require.Equal(t, "restore", p.Latest)
	require.Equal(t, deadline, p.Deadline)
	require.Equal(t, "size 3 GiB", p.LastNote("image", nil))
	require.Empty(t, p.LastNote("image", func(m string) bool { return strings.HasPrefix(m, "speed") }))
	require.True(t, p.Flow("restore").Running())
	require.Equal(t, "b1", p.Flow("image").Boot)
	require.Zero(t, p.Flow("never begun"))
	require.Len(t, p.Timeline, 1)
	step, running := p.Current()
	require.True(t, running)
	require.Equal(t, "unpack", step.Step)
}
