package change_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// unproved is why the node runs its old system, as the agent there finds it.
func (w *world) unproved() string {
	w.t.Helper()
	op, err := w.open(w.t.Context())
	require.NoError(w.t, err)
	return change.UnprovedReturn(w.node.Files(), op.Request, w.progress(), op.Here.Boot)
}

// cutOnceIn cuts the power when a step of post-pivot begins, once.
func cutOnceIn(w *world, step string) {
	w.wrap = func(p flow.Plan) flow.Plan {
		for i, s := range p.Steps {
			if p.Name == ipconfig.FlowPostPivot && s.Name == step {
				p.Steps[i].Do = func(ctx context.Context) error {
					w.wrap = nil
					w.node.CutHere()
					return s.Do(ctx)
				}
			}
		}
		return p
	}
}

// TestABootThatEndsBeforeTheProofStartsTheOldSystem cuts the power in each step of post-pivot.
func TestABootThatEndsBeforeTheProofStartsTheOldSystem(t *testing.T) {
	proved := false
	for i, s := range plansOf(t)[1].Steps {
		verdict := "old"
		if proved {
			verdict = "new"
		}
		proved = proved || s.Name == ipconfig.StepKeepDefault
		t.Run(s.Name, func(t *testing.T) {
			w := newWorld(t)
			cutOnceIn(w, s.Name)
			require.NoError(t, w.Live(nil))
			require.Nil(t, w.wrap, "the power was cut")
			w.requireVerdict(verdict)
			if verdict == "old" {
				require.Contains(t, w.unproved(), "did not prove itself before the node started again; step ")
				require.Contains(t, w.unproved(), "("+s.Name+") was not done", i)
				require.Equal(t, 3, w.node.Describe().Boots)
			} else {
				require.Empty(t, w.unproved())
			}
			require.NoError(t, w.Again())
		})
	}
}

// TestANewSystemThatNeverComesUpIsLeftByTheNextBoot: no program of the product ran in it.
func TestANewSystemThatNeverComesUpIsLeftByTheNextBoot(t *testing.T) {
	w := newWorld(t)
	w.arrival = func(w *world) { w.node.CutHere() }
	require.NoError(t, w.Live(nil))
	w.requireVerdict("old")
	require.Equal(t, 3, w.node.Describe().Boots)
	require.Contains(t, w.unproved(), "it did not come as far as its services")
	r, err := ipconfig.ReadRequest(w.node.Files())
	require.NoError(t, err)
	for _, want := range []bool{true, false} {
		adopted, err := stateroot.AdoptJournal(w.node.Files(), r.OperationID, r.NewStateroot)
		require.NoError(t, err)
		require.Equal(t, want, adopted, "once")
	}
	require.Contains(t, operation.Records(w.node.Files(), r.OperationID), operation.PivotedJournalPath(r.OperationID))
	require.Contains(t, w.unproved(), "it did not come as far as its services", "the journal that was adopted changes nothing")
	require.NoError(t, w.Again())
}

// TestWithoutARollbackByItselfTheNewSystemBootsAgain: what the administrator has switched off stays off.
func TestWithoutARollbackByItselfTheNewSystemBootsAgain(t *testing.T) {
	for _, annotation := range []string{
		lcav1.AutoRollbackOnFailureIPConfigRunAnnotation, lcav1.AutoRollbackOnFailureInitMonitorAnnotation,
	} {
		t.Run(annotation, func(t *testing.T) {
			w := newWorld(t)
			w.annotations = map[string]string{annotation: lcav1.AutoRollbackDisableValue}
			cutOnceIn(w, ipconfig.StepRecert)
			require.NoError(t, w.Live(nil))
			require.Nil(t, w.wrap, "the power was cut")
			w.requireVerdict("new")
			require.Empty(t, w.unproved())
		})
	}
}

// TestABootLoaderThatStartsNothingOnceContinuesTheChange: the journal says so.
func TestABootLoaderThatStartsNothingOnceContinuesTheChange(t *testing.T) {
	w := newWorld(t)
	w.node.BootsOnce(false)
	cutOnceIn(w, ipconfig.StepRecert)
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.False(t, w.progress().Once)
	require.NotEmpty(t, w.progress().LastNote(ipconfig.FlowPrePivot, func(m string) bool {
		return m == ipconfig.NoteBootsAgain+"the boot loader of this node starts nothing once"
	}))
}
