package snapshot_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/snapshot"
)

func TestWhatCannotBeCopiedIsRefusedUntouched(t *testing.T) {
	for name, says := range map[string]string{
		"rhcos_ipc-20260102-030405-beef": "cannot name a copy",
		"../etc":                         "cannot name a copy",
		"":                               "cannot name a copy",
		running:                          "exists already",
	} {
		w := newWorld(false)
		before := w.node.Snapshot(true)
		_, err := snapshot.Prepare(t.Context(), w.ports(), "20260102-030405-beef", name)
		require.ErrorIs(t, err, operation.ErrRefused, name)
		require.ErrorContains(t, err, says)
		require.Equal(t, before, w.node.Snapshot(true))
	}
}

func TestNoSystemInUseIsRemoved(t *testing.T) {
	w := newWorld(false)
	require.NoError(t, w.Live(nil))
	for doomed, says := range map[string]string{
		running: "runs or boots next", "absent": "no stateroot absent", copied: "belongs to an operation of this node",
	} {
		err := snapshot.Remove(t.Context(), w.ports(), doomed, []string{copied})
		require.ErrorIs(t, err, operation.ErrRefused)
		require.ErrorContains(t, err, says)
	}
	require.NoError(t, snapshot.Remove(t.Context(), w.ports(), copied, nil))
	require.False(t, w.made())
}

// The copy boots: it has the cluster's data of the moment and none of the records of this system's operations.
func TestTheCopyBootsWithoutRecordsOfOperations(t *testing.T) {
	w := newWorld(false)
	require.NoError(t, w.node.Seed(operation.JournalPath("20250102-030405-beef"), []byte("{}\n")))
	require.NoError(t, w.Live(nil))
	require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error {
		return w.node.Deployments().SetDefault(ctx, copied)
	}))
	w.node.Cut()
	require.NoError(t, w.node.Settle(t.Context(), 2))
	require.Equal(t, copied, w.node.Describe().Booted)
	require.NoError(t, w.node.ClusterUp())
	ids, err := operation.List(w.node.Files())
	require.NoError(t, err)
	require.Empty(t, ids)
	_, err = w.node.Files().Stat(snapshot.RequestFile)
	require.Error(t, err)
}

func TestAnUnfinishedCopyHoldsTheNode(t *testing.T) {
	w := newWorld(false)
	w.node.Reserve(snapshot.Kind(w.ports()).Reservation(w.ports().Node))
	change := host.Holder{Operation: "ip-config 20260102-030405-beef", Program: "lca-cli ip-config pre-pivot"}
	var refusals []string
	w.node.Command("lca-cli stateroot clone", func(ctx context.Context, _ []string) error {
		return snapshot.Run(ctx, w.ports(), operation.Instruments{Watch: func(e flow.Entry) {
			release, err := w.node.Lock().Acquire(ctx, change)
			if err != nil {
				refusals = append(refusals, err.Error())
				return
			}
			release()
			require.Equal(t, flow.KindFinished, e.Kind, "the node is free before the copy is finished")
		}})
	})
	require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return w.ask(ctx, copied) }))
	require.NoError(t, w.node.Settle(t.Context(), 1))
	require.Len(t, refusals, 16)
	require.Contains(t, refusals[10], "stateroot-clone 20010909-", "it names the operation")
	require.Contains(t, refusals[10], "stateroot-clone, step 5 of 7")
}
