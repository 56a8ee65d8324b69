package flow

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Before returns the step with something done ahead of its effect, in each try.
func (s Step) Before(first func(context.Context) error) Step {
	do := s.Do
	s.Do = func(ctx context.Context) error {
		if err := first(ctx); err != nil {
			return err
		}
		return do(ctx)
	}
	return s
}

// Retrying returns the step with so many tries in one run.
func (s Step) Retrying(tries int, pause time.Duration) Step {
	s.Tries, s.Pause = tries, pause
	return s
}

// runStep does one step, or finds it done.
func (r *Runner) runStep(ctx context.Context, p Plan, i, attempt int) error {
	s := p.Steps[i]
	mark := Entry{Flow: p.Name, Step: s.Name, Title: s.Title, Index: i + 1, Total: len(p.Steps), Attempt: attempt}
	there, err := r.isInPlace(ctx, p, s)
	if err != nil {
		return err
	}
	if there {
		return r.recordEntry(p, mark.withKind(KindSkipped))
	}
	if err := r.recordEntry(p, mark.withKind(KindIntent)); err != nil {
		return err
	}
	start := r.Clock.Now()
	err = r.tryStep(ctx, s)
	mark.TookMS = r.Clock.Now().Sub(start).Milliseconds()
	mark.Evidence = r.takeEvidence()
	if err == nil {
		return r.recordEntry(p, mark.withKind(KindDone))
	}
	if errors.Is(err, ErrLeaving) {
		return err
	}
	err = asStoppedError(ctx, err)
	mark.Error = err.Error()
	if werr := r.writeEntry(mark.withKind(KindFailed)); werr != nil {
		r.Log.Error("failure could not be journaled", "flow", p.Name, "step", s.Name, "error", werr)
	}
	return err
}

// isInPlace says whether the step's effect is in place.
func (r *Runner) isInPlace(ctx context.Context, p Plan, s Step) (bool, error) {
	if s.Again {
		return false, nil
	}
	if s.Check != nil {
		there, err := s.Check(ctx)
		if err != nil {
			return false, fmt.Errorf("check %s: %w", s.Name, err)
		}
		return there, nil
	}
	entries, err := r.Journal.cachedEntries() // what cannot be read is done again
	if err != nil && !errors.Is(err, ErrUnreadable) {
		return false, err
	}
	return doneInJournal(p, s.Name, entries), nil
}

func (r *Runner) tryStep(ctx context.Context, s Step) error {
	tries := max(s.Tries, 1)
	for n := 1; ; n++ {
		err := s.Do(ctx)
		if err == nil || n == tries || ctx.Err() != nil || isPermanent(err) {
			return err
		}
		r.Log.Warn("step failed, trying again", "step", s.Name, "try", n, "of", tries, "error", err)
		if serr := r.Clock.Sleep(ctx, s.Pause); serr != nil {
			return errors.Join(err, serr)
		}
	}
}

func isPermanent(err error) bool {
	var permanent *permanentError
	return errors.Is(err, ErrLeaving) || errors.As(err, &permanent)
}
