package restore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
)

// returning is a node whose restored cluster is ill, so that it goes back by itself.
type returning struct{ *world }

func (w returning) Live(bomb *flowtest.Bomb) error {
	w.sick = errors.New("the storage operator is degraded")
	w.cutBack = bomb != nil && !w.kill
	err := w.world.Live(bomb)
	w.sick = nil
	return err
}

// The parts run side by side: each cell is a node of its own.
func TestCrashMatrix(t *testing.T) {
	request := relocation.Request{OperationID: "x", Factory: "o", Site: "n"}
	there := []flow.Plan{restore.Plan(restore.Ports{}, restore.Request{OperationID: "x", Old: "o", New: "n"}),
		(&onsite.Reconfiguration{Request: request}).Plan()}
	back := []flow.Plan{(&onsite.Back{Request: request}).Plan()}
	for name, kill := range map[string]bool{"power-cut": false, "killed": true} {
		for part, m := range map[string]struct {
			plans []flow.Plan
			world func(*world) flowtest.World
		}{
			"there": {there, func(w *world) flowtest.World { return w }},
			"back":  {back, func(w *world) flowtest.World { return returning{w} }},
		} {
			t.Run(name+", "+part, func(t *testing.T) {
				t.Parallel()
				for _, p := range m.plans {
					require.NoError(t, p.Validate())
				}
				got := flowtest.Matrix(t, m.plans, func(t *testing.T) flowtest.World { return m.world(newWorld(t, kill)) })
				t.Logf("%s, %s: %s", name, part, got)
				switch {
				case part == "back":
					require.Equal(t, got.Cells, got.Verdicts["old"], "whatever happens on the way back, the old cluster runs")
				case kill:
					require.Equal(t, got.Cells, got.Verdicts["restored"], "a killed program continues")
				case !testing.Short(): // which meets some of the steps
					require.Positive(t, got.Verdicts["old"], "a power cut before the flip gives the restore up")
					require.Positive(t, got.Verdicts["restored"])
				}
			})
		}
	}
}

// Begin is no step: the power fails before each of its changes, and of what was stored nothing stays behind.
func TestNoMomentIsLeftOutWhenARestoreIsRequested(t *testing.T) {
	changes := 0
	whole := newWorld(t, false)
	whole.node.CrashWhen(func(_ hosttest.Op, seen int) bool { changes = seen; return false })
	require.NoError(t, begin(t, whole))
	require.GreaterOrEqual(t, changes, 4)
	flowtest.Points(t, changes, func(t *testing.T, before int) {
		w := newWorld(t, false)
		struck := w.node.Struck()
		w.node.CrashAt(before + 1)
		_ = begin(t, w) // it dies on the way
		require.Equal(t, struck+1, w.node.Struck(), "the change was reached")
		w.node.Disarm()
		require.NoError(t, w.node.Settle(t.Context(), maxBoots))
		verdict, err := w.Judge()
		require.NoError(t, err)
		require.Equal(t, "old", verdict)
		require.NoError(t, w.Again())
	})
}

func begin(t *testing.T, w *world) error {
	t.Helper()
	return w.node.Run(t.Context(), func(ctx context.Context) error {
		_, err := restore.Begin(ctx, w.ports(), w.ask())
		return err
	})
}

// TestARestoreThatIsGivenUpHasAWayOut has each step up to the reboot fail until nobody tries any more.
func TestARestoreThatIsGivenUpHasAWayOut(t *testing.T) {
	plan := restore.Plan(newWorld(t, false).ports(), restore.Request{Old: "o", New: "n"})
	got := flowtest.GiveUp(t, []flow.Plan{plan}, func(t *testing.T) flowtest.Person { return newWorld(t, false) })
	require.Equal(t, 2*len(plan.Steps), got.Cells)
	t.Log(got)
}
