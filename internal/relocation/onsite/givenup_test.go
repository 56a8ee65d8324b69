package onsite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
)

// preparing is a node in the factory whose preparation fails at some step until nobody tries any more.
type preparing struct{ *world }

func (p preparing) Live(bomb *flowtest.Bomb) error {
	p.bomb = bomb
	return p.prepare()
}

// TakeWayOut implements flowtest.Person: a preparation that was rolled back is asked for again. One that was given up past its commit
// point is undone with the verb that the message names, which starts the cluster.
func (p preparing) TakeWayOut() error {
	ctx := context.Background()
	if _, held, err := factory.Kind(p.factory()).Reservation(p.node.Ports()).Unfinished(ctx); err != nil || held {
		return fmt.Errorf("the node is held: %w", err)
	}
	if _, err := relocation.ReadRecord(p.node.Files()); err != nil {
		return p.prepare()
	}
	return p.node.Run(ctx, func(ctx context.Context) error { return factory.Cancellation{Ports: p.factory()}.Run(ctx) })
}

func (p preparing) Judge() (string, error) {
	d := p.node.Describe()
	_, err := relocation.ReadRecord(p.node.Files())
	verdict := "prepared"
	if err != nil {
		verdict = "factory"
	}
	if boots := d.Default == factoryStateroot; boots != (verdict == "factory") {
		return "", fmt.Errorf("%s, but %s boots next", verdict, d.Default)
	}
	if d.Booted != factoryStateroot {
		return "", errors.New("the node has left the factory")
	}
	return verdict, p.node.ClusterUp()
}

func (p preparing) Again() error {
	p.bomb = nil
	if _, err := relocation.ReadRecord(p.node.Files()); err == nil {
		cancel := func(ctx context.Context) error { return factory.Cancellation{Ports: p.factory()}.Run(ctx) }
		if err := p.node.Run(context.Background(), cancel); err != nil {
			return err
		}
	}
	if err := p.prepare(); err != nil {
		return err
	}
	verdict, err := p.Judge()
	if err == nil && verdict != "prepared" {
		err = errors.New("the second preparation has not ended")
	}
	return err
}

// TestAPreparationThatIsGivenUpHasAWayOut has each step fail until nobody tries any more.
func TestAPreparationThatIsGivenUpHasAWayOut(t *testing.T) {
	plan := factory.Plan(factory.Ports{}, relocation.Record{Factory: "o", Site: "n"})
	got := flowtest.GiveUp(t, []flow.Plan{plan}, func(t *testing.T) flowtest.Person { return preparing{newWorld(t, false)} })
	require.Equal(t, 2*len(plan.Steps), got.Cells)
	require.Equal(t, 2, got.Verdicts["factory"], "only a cluster that does not start needs the preparation undone")
}
