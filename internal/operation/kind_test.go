package operation_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

type errand struct {
	ID string `json:"id"`
}

const errandFile = "/var/lib/lca/errand.json"

// errands are a kind with one step.
func errands(do func(context.Context) error) operation.Kind[errand] {
	return operation.Kind[errand]{
		Name: "errand", RequestFile: errandFile, Unit: "errand.service", Missing: operation.Refuse("no errand"),
		ID: func(r errand) string { return r.ID },
		Plan: func(errand, operation.Here) flow.Plan {
			return flow.Plan{Name: "errand", AcrossBoots: true, Steps: []flow.Step{{Name: "go", Do: do}}}
		},
	}
}

// TestADamagedRequestBlocksNothingForEver: it holds the node while a journal says that something of it is under way in this boot,
// names itself, and is replaced afterwards.
func TestADamagedRequestBlocksNothingForEver(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"})
	log := &bytes.Buffer{}
	m := operation.Machine{Node: n.Ports(), Clock: flow.SystemClock{}, Log: slog.New(slog.NewTextHandler(log, nil))}
	kind := errands(func(context.Context) error { panic(hosttest.Killed) })
	damage := func() { require.NoError(t, n.Seed(errandFile, []byte("\x00\x00"))) }
	held := func() bool {
		_, found, err := kind.Reservation(m.Node).Unfinished(t.Context())
		require.NoError(t, err, "a damaged request must not keep the node from every other operation")
		return found
	}

	damage()
	require.False(t, held())
	require.NoError(t, kind.Store(t.Context(), m.Intake(), errand{"20260101-000000-0001"}))
	require.Contains(t, log.String(), errandFile)

	_ = n.Run(t.Context(), func(ctx context.Context) error { return kind.Run(ctx, m, operation.Instruments{}) })
	damage()
	require.True(t, held(), "its steps may have stopped the cluster")
	err := kind.Store(t.Context(), m.Intake(), errand{"20260101-000000-0002"})
	require.ErrorIs(t, err, operation.ErrRefused)
	require.ErrorContains(t, err, errandFile)
	require.ErrorContains(t, err, "20260101-000000-0001")
	require.ErrorContains(t, err, "reboot the node")

	n.Cut()
	require.NoError(t, n.Settle(t.Context(), 1))
	require.False(t, held())
	_, found, err := kind.Underway(t.Context(), m.Intake())
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, kind.Store(t.Context(), m.Intake(), errand{"20260101-000000-0002"}))
	r, err := kind.Read(m.Files)
	require.NoError(t, err)
	require.Equal(t, "20260101-000000-0002", r.ID)
	require.ErrorIs(t, kind.Store(t.Context(), m.Intake(), errand{"20260101-000000-0003"}), operation.ErrRefused)
}

// TestAnOperationThatContinuesIsSeenWithoutItsRequest: a reboot does not end it, and what the refusal names does.
func TestAnOperationThatContinuesIsSeenWithoutItsRequest(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"})
	m := operation.Machine{Node: n.Ports(), Clock: flow.SystemClock{}, Log: slog.New(slog.DiscardHandler)}
	undone := false
	kind := errands(func(context.Context) error { panic(hosttest.Killed) })
	kind.AcrossBoots, kind.EndedBy = true, "'lca-cli errand abort'"
	kind.Salvage = func(id, stateroot string) errand {
		require.Equal(t, "rhcos", stateroot)
		return errand{id}
	}
	kind.Plan = func(errand, operation.Here) flow.Plan {
		return flow.Plan{Name: "errand", AcrossBoots: true, Steps: []flow.Step{
			{Name: "go", Do: func(context.Context) error { panic(hosttest.Killed) }, Undo: func(context.Context) error { undone = true; return nil }},
		}}
	}
	const first, second = "20260101-000000-0001", "20260101-000000-0002"
	require.NoError(t, kind.Store(t.Context(), m.Intake(), errand{first}))
	_ = n.Run(t.Context(), func(ctx context.Context) error { return kind.Run(ctx, m, operation.Instruments{}) })
	require.NoError(t, n.Seed(errandFile, []byte("{")))
	n.Cut()
	require.NoError(t, n.Settle(t.Context(), 1))

	_, held, err := kind.Reservation(m.Node).Unfinished(t.Context())
	require.NoError(t, err)
	require.True(t, held, "its journal says that it continues")
	err = kind.Store(t.Context(), m.Intake(), errand{second})
	require.ErrorIs(t, err, operation.ErrRefused)
	require.ErrorContains(t, err, errandFile)
	require.ErrorContains(t, err, "'lca-cli errand abort' ends it")

	r, found, damage, err := kind.FindToEnd(t.Context(), m.Intake())
	require.NoError(t, err)
	require.True(t, found)
	require.ErrorContains(t, damage, errandFile)
	require.Equal(t, first, r.ID)
	here, err := operation.Locate(t.Context(), m.Deployments, m.Power)
	require.NoError(t, err)
	require.NoError(t, kind.Abort(t.Context(), m, operation.Instruments{}, r, here))
	require.True(t, undone)
	require.NoError(t, kind.Store(t.Context(), m.Intake(), errand{second}))
}
