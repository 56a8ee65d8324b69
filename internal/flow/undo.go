package flow

import (
	"context"
	"errors"
	"fmt"
)

// begunSteps lists the steps that were begun and not yet rolled back, last first. A step
// that was only ever found in place is not this plan's to undo.
func begunSteps(p Plan, entries []Entry) []string {
	touched := map[string]bool{}
	for _, e := range entries {
		if e.Flow != p.Name || e.Step == "" {
			continue
		}
		switch e.Kind {
		case KindIntent:
			touched[e.Step] = true
		case KindUndone:
			delete(touched, e.Step)
		default: // the others start and undo no step
		}
	}
	var names []string
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if touched[p.Steps[i].Name] {
			names = append(names, p.Steps[i].Name)
		}
	}
	return names
}

// toUndo lists what has to be rolled back. A journal that cannot be read to its end may hide
// any step, so each is undone: Undo copes with however little there is.
func toUndo(p Plan, entries []Entry, readable bool) []string {
	if readable {
		return begunSteps(p, entries)
	}
	return allSteps(p)
}

func allSteps(p Plan) []string {
	names := make([]string, 0, len(p.Steps))
	for i := len(p.Steps) - 1; i >= 0; i-- {
		names = append(names, p.Steps[i].Name)
	}
	return names
}

// doneInJournal says whether the step's last word in the journal is that it is done.
func doneInJournal(p Plan, step string, entries []Entry) bool {
	done := false
	for _, e := range entries {
		if e.Flow != p.Name || e.Step != step {
			continue
		}
		switch e.Kind {
		case KindDone, KindSkipped:
			done = true
		case KindIntent, KindFailed, KindUndo, KindUndone, KindUndoFailed:
			done = false
		default: // the others belong to no step
		}
	}
	return done
}

// rollBack undoes the named steps in the given order. A step that cannot be
// undone does not keep the others from it; the plan then counts as not yet
// rolled back and the next run tries again. The journal is written where it
// can be: a full disk must not keep the old system from coming back.
func (r *Runner) rollBack(ctx context.Context, p Plan, names []string, failed *FailedError) error {
	r.writeIfPossible(Entry{Flow: p.Name, Kind: KindUndo, Error: failed.Cause.Error()})
	var errs []error
	for _, name := range names {
		i := p.stepIndex(name)
		if i == 0 || p.Steps[i-1].Undo == nil {
			continue
		}
		if err := r.undoStep(ctx, p, i-1); err != nil {
			errs = append(errs, fmt.Errorf("undo %s: %w", name, err))
		}
	}
	if len(errs) > 0 {
		failed.Cause = errors.Join(append([]error{failed.Cause}, errs...)...)
		return failed
	}
	failed.RolledBack = true
	r.writeIfPossible(Entry{Flow: p.Name, Kind: KindRolledBack, Error: failed.Cause.Error()})
	return failed
}

func (r *Runner) undoStep(ctx context.Context, p Plan, i int) error {
	s := p.Steps[i]
	mark := Entry{Flow: p.Name, Step: s.Name, Title: s.Title, Index: i + 1, Total: len(p.Steps)}
	r.writeIfPossible(mark.withKind(KindUndo))
	start := r.Clock.Now()
	err := s.Undo(ctx)
	mark.TookMS = r.Clock.Now().Sub(start).Milliseconds()
	mark.Evidence = r.takeEvidence()
	if err != nil {
		mark.Error = err.Error()
		r.writeIfPossible(mark.withKind(KindUndoFailed))
		return err
	}
	r.writeIfPossible(mark.withKind(KindUndone))
	return nil
}

func (r *Runner) writeIfPossible(e Entry) {
	if err := r.writeEntry(e); err != nil {
		r.Log.Error("entry could not be journaled", "flow", e.Flow, "step", e.Step, "kind", e.Kind, "error", err)
	}
}
