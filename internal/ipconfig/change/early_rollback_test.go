package change_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

// interrupting asks for the rollback once, when the step begins or when it is done, and stops post-pivot as the rollback does.
func (w *world) interrupting(name string, done bool) *bool {
	asked := false
	w.wrap = func(p flow.Plan) flow.Plan {
		for i, s := range p.Steps {
			if p.Name != ipconfig.FlowPostPivot || s.Name != name {
				continue
			}
			p.Steps[i].Do = func(ctx context.Context) error {
				if asked {
					return s.Do(ctx)
				}
				if done {
					if err := s.Do(ctx); err != nil {
						return err
					}
				}
				asked = true
				if err := rollBackOnRequest(w); err != nil {
					return err
				}
				w.stop()
				if !done {
					_ = s.Do(ctx) // what a step still gets done after it was told to stop
				}
				return ctx.Err()
			}
		}
		return p
	}
	return &asked
}

// TestARollbackIsHadWhilePostPivotRuns asks at the beginning and at the end of each of its steps: the node is back in the old
// system, says that it was asked to, and can be changed again.
func TestARollbackIsHadWhilePostPivotRuns(t *testing.T) {
	for _, name := range steps((&change.PostPivot{}).Plan()) {
		for when, done := range map[string]bool{"begins": false, "is done": true} {
			t.Run(name+" "+when, func(t *testing.T) {
				w := newWorld(t)
				asked := w.interrupting(name, done)
				require.NoError(t, w.Live(nil))
				require.True(t, *asked)
				w.requireVerdict("old")
				op, err := ipconfig.ReadRequest(w.node.Files())
				require.NoError(t, err)
				p, err := ipconfig.ReadProgress(w.node.Files(), op.OperationID)
				require.NoError(t, err)
				require.Equal(t, ipconfig.CauseRequested, p.Cause)
				require.Empty(t, w.where(), "no secret is left")
				state, err := w.node.Units().State(t.Context(), ipconfig.UnitInitMonitor)
				require.NoError(t, err)
				require.False(t, state.Running(), "the watchdog is the new system's")
				w.wrap = nil
				require.NoError(t, w.Again())
			})
		}
	}
}
