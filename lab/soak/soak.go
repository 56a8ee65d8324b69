package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
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
	// Cuts is how many there shall be at least. After For, if not 0, no round begins; the last change still does.
	Cuts int
	For  time.Duration
	Seed uint64
	// Out is told of each round, Keep gets the report as far as it has come.
	Out  io.Writer
	Keep func(Report) error

	node   *node
	next   []lcav1.IPConfigStage
	random *rand.Rand
	report Report
}

// Run cuts the power until it was cut often enough, and ends with one change that nobody disturbs. It is an error when a node
// was lost.
func (s *Soak) Run(ctx context.Context) (Report, error) {
	s.random = rand.New(rand.NewPCG(s.Seed, s.Seed))
	s.report = Report{Seed: s.Seed, Started: time.Now().UTC()}
	err := s.run(ctx)
	return s.report, errors.Join(err, s.keep())
}

func (s *Soak) keep() error {
	s.report.Seconds = time.Since(s.report.Started).Seconds()
	return s.Keep(s.report)
}

func (s *Soak) run(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	for s.report.Cuts() < s.Cuts && (s.For == 0 || time.Since(s.report.Started) < s.For) {
		if err := s.one(ctx); err != nil {
			return err
		}
	}
	if err := s.changeAgain(ctx); err != nil {
		if ctx.Err() == nil {
			s.report.Lost++
		}
		return fmt.Errorf("after the last cut: %w", err)
	}
	if s.report.Lost > 0 {
		return fmt.Errorf("the power cuts lost the node %d times (seed %d)", s.report.Lost, s.Seed)
	}
	return nil
}

// begin makes a node. Its operator makes the object that is asked, once the API answers.
func (s *Soak) begin(ctx context.Context) error {
	l, err := s.Fresh(ctx)
	if err != nil {
		return err
	}
	s.report.Machine = string(l.Kind)
	if s.node, err = newNode(l); err != nil {
		return err
	}
	ipc, err := s.node.settled(ctx)
	if err == nil {
		s.next = ipc.Status.ValidNextStages
	}
	return err
}

// one is a round and its account; a node that it loses is replaced.
func (s *Soak) one(ctx context.Context) error {
	before := s.report.Cuts()
	round, lost := s.round(ctx, draw(s.random, s.node.lab.Kind, s.next))
	switch {
	case ctx.Err() != nil:
		round.Ended = "stopped before the node had settled"
	case lost != nil:
		round.Ended = "LOST: " + lost.Error()
		s.report.Lost++
	}
	s.report.Rounds = append(s.report.Rounds, round)
	round.tell(s.Out, before, s.Cuts)
	if err := errors.Join(ctx.Err(), s.keep()); err != nil || lost == nil {
		return err
	}
	fmt.Fprintln(s.Out, s.node.lab.LastWords(ctx))
	return s.begin(ctx)
}

// round asks, cuts, and waits for what becomes of it.
func (s *Soak) round(ctx context.Context, p plan) (Round, error) {
	r := Round{Flow: string(p.flow), Cuts: []Cut{}}
	if err := s.node.ask(ctx, p.flow); err != nil {
		return r, err
	}
	since := time.Now()
	for i, delay := range p.delays {
		fmt.Fprintf(s.Out, "%8s%-8s power cut %d of %d follows in %.1f s\n", "", p.flow, i+1, len(p.delays), delay.Seconds())
		if err := pause(ctx, delay); err != nil {
			return r, err
		}
		since = time.Now()
		r.Cuts = append(r.Cuts, Cut{After: delay.Seconds(), At: since.UTC(), Step: "not looked up"})
		if err := s.node.cut(ctx); err != nil {
			return r, err
		}
	}
	ipc, err := s.node.settled(ctx)
	if err != nil {
		return r, err
	}
	s.next = ipc.Status.ValidNextStages
	r.Recovery, r.Ended, r.At = time.Since(since).Seconds(), drive.Summary(ipc), s.node.places[s.node.at].address
	s.node.nameSteps(ctx, r.Cuts)
	return r, nil
}

// changeAgain proves that the node is as good as one that was never cut off.
func (s *Soak) changeAgain(ctx context.Context) error {
	for _, f := range []flow{final, change} {
		if err := s.node.undisturbed(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// pause lets time pass: a drawn one, or that between two looks.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
