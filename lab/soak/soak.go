package soak

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// patience bounds one wait for a node to settle; emulation is more than ten times slower.
var patience = map[machine.Kind]time.Duration{machine.Nspawn: 6 * time.Minute, machine.QEMU: 40 * time.Minute}

// Soak is one run.
type Soak struct {
	// Fresh makes a node that did not exist before: the first one, and another one after each loss.
	Fresh func(context.Context) (*lab.Lab, error)
	Cuts  int
	Seed  uint64
	// Out gets a line for each cut.
	Out io.Writer

	node   *node
	random *rand.Rand
	usual  map[flow]time.Duration // how long each flow takes when nothing happens to it
	report Report
}

// Run cuts the power Cuts times and ends with one change that nobody disturbs. It is an error when a node was lost.
func (s *Soak) Run(ctx context.Context) (Report, error) {
	began := time.Now()
	s.random = rand.New(rand.NewPCG(s.Seed, s.Seed))
	s.report = Report{Seed: s.Seed, Started: began.UTC()}
	err := s.run(ctx)
	s.report.Seconds = time.Since(began).Seconds()
	return s.report, err
}

func (s *Soak) run(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	for n := 1; n <= s.Cuts; n++ {
		cut, lost := s.round(ctx, n)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if lost != nil {
			cut.Ended = "LOST: " + lost.Error()
			s.report.Lost++
		}
		s.report.Cuts = append(s.report.Cuts, cut)
		fmt.Fprintln(s.Out, cut.line(n, s.Cuts))
		if lost == nil {
			continue
		}
		fmt.Fprintln(s.Out, s.node.lab.LastWords(ctx))
		if err := s.begin(ctx); err != nil {
			return err
		}
	}
	if err := s.undisturbed(ctx); err != nil {
		return fmt.Errorf("after the last cut the node can not be changed any more: %w", err)
	}
	if s.report.Lost > 0 {
		return fmt.Errorf("%d of %d power cuts lost the node (seed %d)", s.report.Lost, s.Cuts, s.Seed)
	}
	return nil
}

// begin makes a node and, the first time, measures each flow undisturbed: that is what the moments are drawn from.
func (s *Soak) begin(ctx context.Context) error {
	l, err := s.Fresh(ctx)
	if err != nil {
		return err
	}
	s.report.Machine = string(l.Kind)
	if s.node, err = newNode(l); err != nil {
		return err
	}
	// The operator of a new node makes the object that is asked, once the API answers.
	if _, err := s.node.settled(ctx); err != nil || s.usual != nil {
		return err
	}
	return s.undisturbed(ctx)
}

// undisturbed goes there, back, there again and stays, and measures.
func (s *Soak) undisturbed(ctx context.Context) error {
	usual := map[flow]time.Duration{}
	for _, f := range []flow{change, rollback, final, change, final} {
		began := time.Now()
		if err := s.node.ask(ctx, f); err != nil {
			return err
		}
		if _, err := s.node.settled(ctx); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		usual[f] = max(usual[f], time.Since(began))
	}
	if s.usual == nil {
		s.usual = usual
		fmt.Fprintf(s.Out, "undisturbed: change %.1f s, rollback %.1f s, final %.1f s; seed %d\n",
			usual[change].Seconds(), usual[rollback].Seconds(), usual[final].Seconds(), s.Seed)
	}
	return nil
}

// round is one request, one cut, and what became of it.
func (s *Soak) round(ctx context.Context, n int) (Cut, error) {
	target := s.draw()
	cut := Cut{Number: n, Flow: string(target), After: s.random.Float64() * s.usual[target].Seconds()}
	if target != change {
		if err := s.node.do(ctx, change); err != nil {
			return cut, fmt.Errorf("the change before the cut: %w", err)
		}
	}
	if err := s.node.ask(ctx, target); err != nil {
		return cut, err
	}
	if err := pause(ctx, time.Duration(cut.After*float64(time.Second))); err != nil {
		return cut, err
	}
	began := time.Now()
	if err := s.node.cut(ctx); err != nil {
		return cut, err
	}
	ipc, err := s.node.settled(ctx)
	if err != nil {
		return cut, err
	}
	cut.Recovery, cut.Ended = time.Since(began).Seconds(), drive.Summary(ipc)
	cut.Step = s.node.stepAt(ctx, began)
	if cut.At, err = s.node.seen(ctx); err != nil {
		return cut, err
	}
	return cut, s.node.atRest(ctx)
}

// draw picks what is disturbed: mostly the change itself.
func (s *Soak) draw() flow {
	switch x := s.random.Float64(); {
	case x < 0.7:
		return change
	case x < 0.9:
		return rollback
	}
	return final
}

// pause lets the drawn time pass: here the time is the condition.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
