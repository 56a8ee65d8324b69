package change_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

// person is a world in which a step fails until no run is left, and a person takes one of the ways out then.
type person struct {
	*world
	wayOut func(*world) error
}

// Live implements flowtest.World: no one helps systemd before the step is repaired, but a person asks for what comes next.
func (p person) Live(bomb *flowtest.Bomb) error {
	ctx := context.Background()
	p.bomb, p.asCommand = bomb, true
	first := func(w *world) error { return w.ask(ctx, newSite, oldSite) }
	for _, ask := range []func(*world) error{first, p.then} {
		if ask == nil {
			break
		}
		if err := p.node.Run(ctx, func(context.Context) error { return ask(p.world) }); err != nil {
			return err
		}
		if err := p.node.Settle(ctx, maxBoots); err != nil {
			return err
		}
	}
	p.then = nil
	return nil
}

// TakeWayOut implements flowtest.Person.
func (p person) TakeWayOut() error {
	ctx := context.Background()
	err := p.node.Run(ctx, func(context.Context) error { return p.wayOut(p.world) })
	if err != nil && !errors.Is(err, hosttest.PowerCut) && !errors.Is(err, hosttest.Rebooted) {
		return err
	}
	defer func() { p.recert = p.node.FakeRecert() }()
	return p.rest(ctx)
}

func nothingMore(*world) error { return nil }

// restart is what systemd does with a unit that failed, unless the end was final.
func restart(w *world) error {
	state, err := w.node.Units().State(context.Background(), ipconfig.UnitIPConfiguration)
	if err != nil || state.Active == "failed" && state.ExitCode == host.FinalExit {
		return fmt.Errorf("%s is not started again: %+v, %w", ipconfig.UnitIPConfiguration, state, err)
	}
	return restartPostPivot(w)
}

// restartPostPivot is what the message of a post-pivot that was given up asks for, and what systemd does with one that stays.
func restartPostPivot(w *world) error {
	if w.node.Describe().Booted == oldStateroot {
		return nil
	}
	return w.node.Units().Start(context.Background(), ipconfig.UnitIPConfiguration)
}

// reboot is what a person does at the node.
func reboot(w *world) error {
	return w.node.Power().Reboot(context.Background(), "a person asks for it")
}

// TestAChangeThatIsGivenUpHasAWayOut has each step of each flow fail until no run is left.
func TestAChangeThatIsGivenUpHasAWayOut(t *testing.T) {
	plans := plansOf(t)
	pre, post, back := plans[:1], plans[1:2], plans[2:]
	// A change that nothing rolls back by itself has the new stateroot as its default from the start.
	stay := []flow.Plan{withoutKeep(post[0])}
	stays := map[string]string{lcav1.AutoRollbackOnFailureIPConfigRunAnnotation: lcav1.AutoRollbackDisableValue}
	for name, c := range map[string]struct {
		plans []flow.Plan
		// broken: recert fails in the new stateroot, which rolls back by itself.
		broken      bool
		annotations map[string]string
		then        func(*world) error
		wayOut      func(*world) error
	}{
		"pre-pivot, reboot":               {plans: pre, wayOut: reboot},
		"pre-pivot, cleanup":              {plans: pre, wayOut: cleanUpOnRequest},
		"post-pivot, by itself":           {plans: post, wayOut: restartPostPivot},
		"post-pivot that stays, restart":  {plans: stay, annotations: stays, wayOut: restartPostPivot},
		"post-pivot that stays, rollback": {plans: stay, annotations: stays, wayOut: rollBackOnRequest},
		"automatic rollback, by systemd":  {plans: back, broken: true, wayOut: restart},
		"rollback, by itself":             {plans: back, then: rollBackOnRequest, wayOut: nothingMore},
		"rollback, asked again":           {plans: back, then: rollBackOnRequest, wayOut: rollBackOnRequest},
		"cleanup, by itself":              {plans: []flow.Plan{(&change.Cleanup{}).Plan()}, then: cleanUpOnRequest, wayOut: nothingMore},
		"cleanup, asked again":            {plans: []flow.Plan{(&change.Cleanup{}).Plan()}, then: cleanUpOnRequest, wayOut: cleanUpOnRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := flowtest.GiveUp(t, c.plans, func(t *testing.T) flowtest.Person {
				w := newWorld(t)
				w.annotations, w.then = c.annotations, c.then
				if c.broken {
					w.recert = brokenRecert{}
				}
				return person{w, c.wayOut}
			})
			t.Log(got)
			require.Equal(t, 2*len(c.plans[0].Steps), got.Cells, fmt.Sprint(got))
		})
	}
}

// TestAPrePivotThatCannotRebootNamesItsWaysOut, which the test above takes: its cluster is down, so no agent can.
func TestAPrePivotThatCannotRebootNamesItsWaysOut(t *testing.T) {
	w := newWorld(t)
	w.asCommand = true
	w.power = func() error { return errors.New("logind is gone") }
	require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return w.ask(ctx, newSite, oldSite) }))
	require.NoError(t, w.node.Settle(t.Context(), maxBoots))
	failures := w.node.Failures()
	last := failures[len(failures)-1]
	for _, says := range []string{"given up", "logind is gone", "reboot the node", "'lca-cli ip-config cleanup'"} {
		require.ErrorContains(t, last, says)
	}
}
