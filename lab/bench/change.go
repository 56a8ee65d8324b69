package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
)

// Flows and steps, as the node's account names them.
const (
	prePivot  = "pre-pivot"
	postPivot = "post-pivot"
	stopStep  = "quiesce"
	lastStep  = "flip-default" // the reboot follows at once
)

// ours measures the product's change, and the way back: only the stateroot it started from
// knows all steps of it.
func (s *subject) ours(ctx context.Context, n *Node) error {
	if err := s.keepKeys(ctx); err != nil {
		return err
	}
	s.say("our change")
	asked, err := s.change(ctx, &n.Ours)
	if err != nil {
		return fmt.Errorf("our change: %w", err)
	}
	if err := s.rollBack(ctx, n); err != nil {
		return err
	}
	account, err := s.driver.Journal(ctx)
	if err != nil {
		return err
	}
	n.Ours.After = finishing(account.Steps)
	return n.Ours.fromJournal(asked, account.Steps)
}

// change makes the request and waits until it is completed. It returns when it asked, by the node's clock.
func (s *subject) change(ctx context.Context, c *Change) (asked time.Time, err error) {
	if err := s.settle(ctx); err != nil {
		return asked, err
	}
	started := time.Now()
	c.Outage, err = s.outage(ctx, func(ctx context.Context) (err error) {
		if asked, err = s.now(ctx); err != nil {
			return err
		}
		if err := s.driver.Patch(ctx, request()); err != nil {
			return err
		}
		_, err = s.driver.Until(ctx, "condition "+lcav1.ConditionConfigCompleted, drive.Is(lcav1.ConditionConfigCompleted))
		return err
	})
	if err != nil {
		return asked, err
	}
	c.Completed = time.Since(started).Seconds()
	seen := drive.Look(ctx, s.lab, newAddress)
	if !seen.API || len(seen.NodeAddresses) != 1 || seen.NodeAddresses[0] != newAddress.String() {
		return asked, fmt.Errorf("the node is not at %s: API %t, node addresses %v: %s", newAddress, seen.API, seen.NodeAddresses, seen.Error)
	}
	return asked, nil
}

// fromJournal fills in what the product's journal tells of pre-pivot.
func (c *Change) fromJournal(asked time.Time, steps []drive.Step) error {
	var stopped, rebooted time.Time
	for _, step := range steps {
		if step.Flow != prePivot {
			continue
		}
		begun := step.Ended.Add(-time.Duration(step.Seconds * float64(time.Second)))
		if len(c.Before) == 0 {
			c.ToBegin = begun.Sub(asked).Seconds()
		}
		if step.Step == stopStep {
			stopped = begun
		}
		if step.Step == lastStep {
			rebooted = step.Ended
		}
		c.Before = append(c.Before, Step{Name: step.Step, Seconds: step.Seconds, Down: !stopped.IsZero()})
	}
	return c.reached(asked, stopped, rebooted)
}

// finishing is what the journal tells of post-pivot.
func finishing(steps []drive.Step) []Step {
	var out []Step
	for _, step := range steps {
		if step.Flow == postPivot {
			out = append(out, Step{Name: step.Step, Seconds: step.Seconds})
		}
	}
	return out
}

// reached fills in the spans up to the reboot.
func (c *Change) reached(asked, stopped, rebooted time.Time) error {
	if stopped.IsZero() || rebooted.IsZero() {
		return errors.New("the node's account lacks the stop of the cluster or the step before the reboot")
	}
	c.ToReboot, c.DownToReboot = rebooted.Sub(asked).Seconds(), rebooted.Sub(stopped).Seconds()
	return nil
}

// rollBack measures the way back.
func (s *subject) rollBack(ctx context.Context, n *Node) (err error) {
	s.say("the rollback")
	if n.NewStateroot, err = s.bootedNow(ctx); err != nil {
		return err
	}
	n.RollbackOutage, err = s.outage(ctx, func(ctx context.Context) error {
		if err := s.driver.Stage(ctx, lcav1.StageRollback); err != nil {
			return err
		}
		_, err := s.driver.Until(ctx, "condition "+lcav1.ConditionRollbackCompleted, drive.Is(lcav1.ConditionRollbackCompleted))
		return err
	})
	if err != nil {
		return fmt.Errorf("rollback: %w", err)
	}
	return nil
}

func (s *subject) bootedNow(ctx context.Context) (string, error) {
	state, err := s.lab.Machine.State(ctx)
	return state.Stateroot, err
}

// cleanUp keeps what the reference needs of our change, and removes the rest of it.
func (s *subject) cleanUp(ctx context.Context, n *Node) error {
	if err := s.prepareReference(ctx, n.NewStateroot); err != nil {
		return fmt.Errorf("prepare the reference's order: %w", err)
	}
	if err := s.driver.Stage(ctx, lcav1.StageIdle); err != nil {
		return err
	}
	return s.idle(ctx)
}
