package change_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

func rollBackOnRequest(w *world) error {
	return w.launch(context.Background(), ipconfig.UnitRollback, "ip-config", "rollback")
}

func cleanUpOnRequest(w *world) error {
	return w.launch(context.Background(), ipconfig.UnitCleanup, "ip-config", "cleanup")
}

// tidied is a world in which nothing may be left over.
type tidied struct{ *world }

func (w tidied) Judge() (string, error) {
	for name, s := range w.node.Describe().Stateroots {
		if !s.Deployed {
			return "", fmt.Errorf("half of stateroot %s is left", name)
		}
	}
	return w.world.Judge()
}

func TestAChangeGoesThroughAndCanBeChangedAgain(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Live(nil))
	require.Empty(t, w.node.Failures())
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "new", verdict)
	require.NoError(t, w.Again())
}

func TestARollbackOnRequestEndsInTheOldSystem(t *testing.T) {
	w := newWorld(t)
	w.then = rollBackOnRequest
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict)
	require.NoError(t, w.Again())
}

// TestCrashMatrix dies before, after and at every single effect of every step: by
// a power cut, and by the death of lca-cli alone.
func TestCrashMatrix(t *testing.T) {
	for name, killOnly := range map[string]bool{"power-cut": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			plans := plansOf(t)
			forward := flowtest.Matrix(t, plans[:2], func(t *testing.T) flowtest.World {
				w := newWorld(t)
				w.killOnly = killOnly
				return w
			})
			back := flowtest.Matrix(t, plans[2:], func(t *testing.T) flowtest.World {
				w := newWorld(t)
				w.killOnly, w.then = killOnly, rollBackOnRequest
				return w
			})
			tidy := flowtest.Matrix(t, []flow.Plan{(&change.Cleanup{}).Plan()}, func(t *testing.T) flowtest.World {
				w := newWorld(t)
				w.killOnly, w.then = killOnly, cleanUpOnRequest
				return tidied{w}
			})
			again := flowtest.Matrix(t, []flow.Plan{plans[0], withoutKeep(plans[1])}, func(t *testing.T) flowtest.World {
				w := newWorld(t)
				w.node.BootsOnce(false)
				w.killOnly = killOnly
				return w
			})
			t.Logf("crash matrix, %s, with a boot loader that starts nothing once: %s", name, again)
			t.Logf("crash matrix, %s: cleanup: %s", name, tidy)
			require.Zero(t, tidy.Verdicts["old"], "a change that was kept stays")
			t.Logf("crash matrix, %s: pre-pivot and post-pivot: %s; rollback: %s", name, forward, back)
			if !testing.Short() { // which meets some of the steps
				require.Positive(t, forward.Verdicts["new"])
			}
			require.Zero(t, back.Verdicts["new"], "a rollback that was begun ends in the old system")
		})
	}
}

// withoutKeep is post-pivot of a stateroot that is the default from the flip on.
func withoutKeep(p flow.Plan) flow.Plan {
	p.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(s flow.Step) bool { return s.Name == ipconfig.StepKeepDefault })
	return p
}

func steps(p flow.Plan) (names []string) {
	for _, s := range p.Steps {
		names = append(names, s.Name)
	}
	return names
}

func TestTheFlipIsTheLastThingBeforeTheReboot(t *testing.T) {
	p := (&change.PrePivot{}).Plan()
	names := steps(p)
	require.Equal(t, []string{ipconfig.StepArm, ipconfig.StepSeal, ipconfig.StepWipe, ipconfig.StepFlip, ipconfig.StepReboot}, names[len(names)-5:])
	require.Equal(t, ipconfig.StepFlip, p.Commit)
}

func TestOnlyAPostPivotThatMayRollBackGivesUp(t *testing.T) {
	require.Positive(t, (&change.PostPivot{}).Plan().MaxAttempts)
	require.Zero(t, (&change.PostPivot{Endless: true}).Plan().MaxAttempts)
}

// life is what a test asks of a node, and what must have become of it at the end; empty for old or new.
type life struct {
	name  string
	first func(*world) error // done undisturbed
	asked func(*world) error
	ends  string
}

func lives() []life {
	changed := func(w *world) error { return w.Live(nil) }
	return []life{
		{"change", func(*world) error { return nil }, func(w *world) error { return w.ask(context.Background(), newSite, oldSite) }, ""},
		{"rollback", changed, rollBackOnRequest, "old"},
		{"cleanup", changed, cleanUpOnRequest, "new"},
	}
}

// TestNoMomentIsLeftOut dies right before each change to the node once something was asked for, also before those between two
// steps and after the last one, which belong to no plan.
func TestNoMomentIsLeftOut(t *testing.T) {
	for name, arm := range map[string]func(*hosttest.Node, int){"power-cut": (*hosttest.Node).CrashAt, "killed": (*hosttest.Node).KillAt} {
		for _, l := range lives() {
			t.Run(l.name+"/"+name, func(t *testing.T) {
				moments := l.changes(t)
				require.Greater(t, moments, 10)
				flowtest.Points(t, moments, func(t *testing.T, before int) { l.cutShort(t, arm, before+1) })
			})
		}
	}
}

// changes counts those that an undisturbed life makes.
func (l life) changes(t *testing.T) (all int) {
	w := newWorld(t)
	require.NoError(t, l.first(w))
	require.NoError(t, w.node.Run(t.Context(), func(context.Context) error { return l.asked(w) }))
	w.node.CrashWhen(func(_ hosttest.Op, seen int) bool { all = seen; return false })
	require.NoError(t, w.rest(t.Context()))
	return all
}

// cutShort lives once and dies at the moment.
func (l life) cutShort(t *testing.T, arm func(*hosttest.Node, int), moment int) {
	w := newWorld(t)
	require.NoError(t, l.first(w))
	require.NoError(t, w.node.Run(t.Context(), func(context.Context) error { return l.asked(w) }))
	arm(w.node, moment)
	require.NoError(t, w.rest(t.Context()))
	require.Equal(t, 1, w.node.Struck(), "the moment was reached")
	verdict, err := w.Judge()
	require.NoError(t, err)
	if l.ends != "" && verdict != l.ends { // nothing of it was journaled; the operator asks again, since status says so
		require.NoError(t, w.node.Run(t.Context(), func(context.Context) error { return l.asked(w) }))
		require.NoError(t, w.rest(t.Context()))
		verdict, err = w.Judge()
		require.NoError(t, err)
		require.Equal(t, l.ends, verdict)
	}
	require.NoError(t, w.Again())
}
