package create_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
)

// stoppedWorld is a node whose generation died while the cluster was stopped, in the same boot.
func stoppedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(true)
	stopped := false
	w.node.KillWhen(func(op hostOp, _ int) bool {
		stopped = stopped || strings.HasPrefix(op.String(), "units.stop "+host.UnitCRIO)
		return stopped && strings.HasPrefix(op.Name, "trees.")
	})
	err := w.node.Run(t.Context(), func(ctx context.Context) error {
		if err := w.request(); err != nil {
			return err
		}
		return create.Run(ctx, w.ports(), instruments)
	})
	require.ErrorIs(t, err, hosttest.Killed)
	require.Error(t, w.node.ClusterUp(), "the cluster is not stopped")
	return w
}

// A generation that cannot be continued does not hold the cluster: the unit starts it at once.
func TestAGenerationThatCannotGoOnStartsTheCluster(t *testing.T) {
	for name, damage := range map[string]func(*world) error{
		"request damaged": func(w *world) error { return w.node.Files().Write(seed.RequestFile, []byte("{"), 0o600) },
		"request removed": func(w *world) error { return w.node.Files().Remove(seed.RequestFile) },
		"journal of another version": func(w *world) error {
			return w.node.Files().Write(operation.JournalPath(w.id), []byte("{\"version\":99}\n"), 0o600)
		},
		"journal is a folder": func(w *world) error {
			at := operation.JournalPath(w.id)
			return errors.Join(w.node.Files().Remove(at), w.node.Files().Write(at+"/x", nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := stoppedWorld(t)
			require.NoError(t, damage(w))
			require.Error(t, w.node.Run(t.Context(), func(ctx context.Context) error { return create.Run(ctx, w.ports(), instruments) }))
			require.NoError(t, w.node.ClusterUp())
			require.Equal(t, w.first, w.cluster(), "the cluster's own etcd was changed")
		})
	}
}

// Where the unit never runs again, the next boot starts the cluster: the mask is in /run.
func TestTheNextBootStartsTheCluster(t *testing.T) {
	w := stoppedWorld(t)
	require.NoError(t, w.node.Files().Write(operation.JournalPath(w.id), []byte("damaged\n\n"), 0o600))
	w.node.Cut()
	require.NoError(t, w.node.Settle(t.Context(), 1))
	require.NoError(t, w.node.ClusterUp())
}

// A kubelet that others have masked is not started.
func TestOthersMasksStay(t *testing.T) {
	w := newWorld(false)
	ctx := t.Context()
	require.NoError(t, w.node.Units().Stop(ctx, host.UnitKubelet))
	require.NoError(t, w.node.Ports().Masks.Mask(ctx, host.UnitKubelet))
	require.ErrorIs(t, create.Run(ctx, w.ports(), instruments), operation.ErrRefused)
	require.Error(t, w.node.ClusterUp())
}

// TestAGenerationThatIsGivenUpHasAWayOut has each step fail until nobody tries any more.
func TestAGenerationThatIsGivenUpHasAWayOut(t *testing.T) {
	plan := create.Plan(newWorld(false).ports(), seed.Request{}, host.Deployment{})
	got := flowtest.GiveUp(t, []flow.Plan{plan}, func(*testing.T) flowtest.Person { return ended{newWorld(false)} })
	require.Equal(t, 2*len(plan.Steps), got.Cells)
}
