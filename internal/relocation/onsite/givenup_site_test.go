package onsite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
)

// onSite is a node at its site on which a step fails until no run is left; a person takes a way out then.
type onSite struct {
	*world

	// then is asked for once the node is at rest; wayOut when the step is repaired.
	then, wayOut func(*world) error
}

func (w onSite) Live(bomb *flowtest.Bomb) error {
	w.asCommand = true
	if err := w.world.Live(bomb); err != nil || w.then == nil {
		return err
	}
	return w.do(w.then)
}

func (w onSite) TakeWayOut() error {
	w.sick = nil
	return w.do(w.wayOut)
}

// do has a person do it, and lets the node come to rest.
func (w *world) do(what func(*world) error) error {
	ctx := context.Background()
	err := w.node.Run(ctx, func(context.Context) error { return what(w) })
	if err != nil && !errors.Is(err, hosttest.PowerCut) && !errors.Is(err, hosttest.Rebooted) {
		return err
	}
	return w.node.Settle(ctx, maxBoots)
}

// finalEnd says that systemd does not start the unit again.
func (w *world) finalEnd(unit string) error {
	state, err := w.node.Units().State(context.Background(), unit)
	if err == nil && state.Active == "failed" && state.ExitCode == host.FinalExit {
		return fmt.Errorf("%s is not started again: %v", unit, w.node.Failures())
	}
	return err
}

// startAgain is what systemd does with the unit that reconfigures.
func startAgain(w *world) error {
	if err := w.finalEnd(relocation.UnitReconfigure); err != nil {
		return err
	}
	return w.node.Units().Start(context.Background(), relocation.UnitReconfigure)
}

// launchAgain is what systemd does with the unit that goes back.
func launchAgain(w *world) error {
	if err := w.finalEnd(relocation.UnitRollback); err != nil {
		return err
	}
	return askBackFromSite(w)
}

func askBackFromSite(w *world) error {
	if w.node.Describe().Booted == factoryStateroot {
		return nil
	}
	return askBack(w)
}

func askBack(w *world) error { return w.service().AskBack(context.Background(), onsite.CauseRequested) }

// askAgain is 'lca-cli relocation apply' with the same configuration.
func askAgain(w *world) error {
	w.again = true
	return cutPower(w)
}

func cutPower(w *world) error {
	w.node.Cut()
	return nil
}

// TestAReconfigurationThatIsGivenUpHasAWayOut has each step fail until no run is left.
func TestAReconfigurationThatIsGivenUpHasAWayOut(t *testing.T) {
	r := relocation.Request{OperationID: "x", Factory: "o", Site: "n"}
	there := []flow.Plan{(&onsite.Reconfiguration{Request: r}).Plan()}
	back := []flow.Plan{(&onsite.Back{Request: r}).Plan()}
	for name, c := range map[string]struct {
		plans        []flow.Plan
		sick         error
		then, wayOut func(*world) error
	}{
		"reconfiguration, asked again":   {plans: there, wayOut: askAgain},
		"reconfiguration, rollback":      {plans: there, wayOut: askBackFromSite},
		"rollback, by systemd":           {plans: back, then: askBack, wayOut: launchAgain},
		"rollback, asked again":          {plans: back, then: askBack, wayOut: askBackFromSite},
		"rollback, power cut":            {plans: back, then: askBack, wayOut: cutPower},
		"automatic rollback, by systemd": {plans: back, sick: errIll, wayOut: startAgain},
		"automatic rollback, asked":      {plans: back, sick: errIll, wayOut: askBackFromSite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := flowtest.GiveUp(t, c.plans, func(t *testing.T) flowtest.Person {
				w := newWorld(t, false)
				w.sick = c.sick
				return onSite{world: w, then: c.then, wayOut: c.wayOut}
			})
			t.Log(got)
			require.Equal(t, 2*len(c.plans[0].Steps), got.Cells, "%s", got)
		})
	}
}

// movingOn is a node that came back from its site and gets a corrected configuration there.
type movingOn struct{ returning }

func (w movingOn) Live(bomb *flowtest.Bomb) error {
	w.asCommand = true
	return w.returning.Live(bomb)
}

func (w movingOn) TakeWayOut() error {
	if d := w.node.Describe(); d.Booted != d.Default { // nothing but a reboot is left to do
		failures := w.node.Failures()
		require.ErrorContains(w.t, failures[len(failures)-1], "reboot the node")
	}
	return w.do(askAgain)
}

// canceling is a prepared node whose factory wants it back.
type canceling struct{ preparing }

func (w canceling) Live(bomb *flowtest.Bomb) error {
	w.asCommand = true
	if err := w.prepare(); err != nil {
		return err
	}
	w.bomb = bomb
	return w.do(cancelAgain)
}

func (w canceling) TakeWayOut() error { return w.do(cancelAgain) }

// cancelAgain is 'lca-cli relocation abort', which a person repeats until it has said that it is done.
func cancelAgain(w *world) error {
	ctx := context.Background()
	if err := w.node.Transients().Forget(ctx, relocation.UnitCancel); err != nil {
		return err
	}
	return w.node.Transients().Launch(ctx, host.Transient{Unit: relocation.UnitCancel, Restart: true,
		Argv: []string{host.CLI, "relocation", "cancel"}})
}

// TestWhatIsGivenUpInTheFactoryStateHasAWayOut: another configuration, and the end of the preparation.
func TestWhatIsGivenUpInTheFactoryStateHasAWayOut(t *testing.T) {
	r := relocation.Request{OperationID: "x", Factory: "o", Site: "n"}
	for name, c := range map[string]struct {
		plan  flow.Plan
		world func(*world) flowtest.Person
		ends  string
	}{
		"another configuration": {factory.Again(factory.Ports{}, r), func(w *world) flowtest.Person { return movingOn{returning{w}} }, "home"},
		"abort": {factory.Cancellation{}.Plan(relocation.Record{Factory: "o", Site: "n"}),
			func(w *world) flowtest.Person { return canceling{preparing{w}} }, "factory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := flowtest.GiveUp(t, []flow.Plan{c.plan}, func(t *testing.T) flowtest.Person { return c.world(newWorld(t, false)) })
			t.Log(got)
			require.Equal(t, 2*len(c.plan.Steps), got.Cells, "%s", got)
			require.Equal(t, got.Cells, got.Verdicts[c.ends], "%s", got)
		})
	}
}
