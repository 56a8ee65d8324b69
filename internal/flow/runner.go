package flow

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Clock is time as the runner needs it.
type Clock interface {
	Now() time.Time
	// Sleep returns early, with the context's error, when that is done.
	Sleep(ctx context.Context, d time.Duration) error
}

// Runner carries out plans of one operation on one node.
type Runner struct {
	Journal *Journal
	Clock   Clock
	// Operation and Stateroot are written into each entry; Boot differs between boots.
	Operation, Stateroot, Boot string
	Log                        *slog.Logger
	// Evidence returns and forgets the commands run since it was last asked; may be nil.
	Evidence func() []Evidence
	// Clean takes secrets out of what an error or a message says, before it is written; may be nil.
	Clean func(string) string
	// Watch sees each entry after it was written; may be nil.
	Watch func(Entry)

	running bool
}

// Run carries out the plan from the place that the journal says. nil means that the plan is finished. Any other end is a
// *FailedError.
func (r *Runner) Run(ctx context.Context, p Plan) error {
	if err := p.Validate(); err != nil {
		return err
	}
	r.running = true
	defer func() { r.running = false }()
	entries, err := r.Journal.Entries()
	if err != nil && !errors.Is(err, ErrUnreadable) {
		return err
	}
	place := Locate(p, entries, r.Boot, err == nil)
	switch action := Resume(place, p); action {
	case Begin, Continue:
		return r.runForward(ctx, p, place)
	case RollBack:
		return r.rollBack(ctx, p, toUndo(p, entries, err == nil), r.newFailure(p, place.Step, interruptionCause(p, place)))
	case GiveUp:
		return r.newFailure(p, place.Step, givenUp(place, err)).markCommitted()
	default:
		return endedError(p, place)
	}
}

// Abort rolls back a plan that was begun and is not past its commit point. A plan that is over, or was never begun, is
// left alone.
func (r *Runner) Abort(ctx context.Context, p Plan) error {
	if err := p.Validate(); err != nil {
		return err
	}
	r.running = true
	defer func() { r.running = false }()
	entries, err := r.Journal.Entries()
	if err != nil && !errors.Is(err, ErrUnreadable) {
		return err
	}
	pl := Locate(p, entries, r.Boot, err == nil)
	switch {
	case pl.Position == Fresh, pl.Position == Finished, pl.Position == RolledBack:
		return nil
	case pl.Committed:
		return r.newFailure(p, pl.Step, errors.New("it is past its commit point and cannot be rolled back")).markCommitted()
	}
	err = r.rollBack(ctx, p, toUndo(p, entries, err == nil), r.newFailure(p, pl.Step, ErrAborted))
	if failed := (*FailedError)(nil); errors.As(err, &failed) && failed.RolledBack {
		return nil
	}
	return err
}

// Note adds a fact to the journal that changes nothing about any plan. A deadline
// that is not zero is recorded with it.
func (r *Runner) Note(flow, message string, deadline time.Time) error {
	if !r.running {
		r.Journal.loaded = false // another process may have written since
	}
	e := Entry{Flow: flow, Kind: KindNote, Message: message}
	if !deadline.IsZero() {
		e.Deadline = &deadline
	}
	return r.writeEntry(e)
}

// runForward does the steps that are not done yet.
func (r *Runner) runForward(ctx context.Context, p Plan, pl Place) error {
	begin := Entry{Flow: p.Name, Kind: KindBegin, Attempt: pl.Attempts + 1, Total: len(p.Steps)}
	past := pl.Committed || p.Commit == FromStart
	p.Urgent = p.Urgent || pl.Committed && p.Commit != FromStart
	if err := r.recordEntry(p, begin); err != nil {
		return r.handleFailure(ctx, p, pl.Step, err, past)
	}
	for i, s := range p.Steps {
		if err := r.runStep(ctx, p, i, begin.Attempt); errors.Is(err, ErrLeaving) {
			return err
		} else if err != nil {
			return r.handleFailure(ctx, p, s.Name, err, past)
		}
		if s.Name == p.Commit && !past {
			past, p.Urgent = true, true // a full disk must not hold up what can no longer be rolled back
			if err := r.recordEntry(p, Entry{Flow: p.Name, Kind: KindCommitted}); err != nil {
				return err
			}
		}
	}
	return r.recordEntry(p, Entry{Flow: p.Name, Kind: KindFinished})
}

// handleFailure decides what a failed step means: before the commit point everything is rolled back, after it the failure is
// reported and the next run continues.
func (r *Runner) handleFailure(ctx context.Context, p Plan, step string, cause error, past bool) error {
	failed := r.newFailure(p, step, cause)
	if past {
		return failed.markCommitted()
	}
	entries, err := r.Journal.cachedEntries()
	if err != nil {
		r.Log.Error("journal unreadable while rolling back; undoing every step", "flow", p.Name, "error", err)
	}
	names := toUndo(p, entries, err == nil)
	return r.rollBack(context.WithoutCancel(ctx), p, names, failed)
}

func (e Entry) withKind(k Kind) Entry { e.Kind = k; return e }

func (r *Runner) takeEvidence() []Evidence {
	if r.Evidence == nil {
		return nil
	}
	return r.Evidence()
}

// recordEntry writes the entry; only a plan that is urgent, or past its commit point, continues without it.
func (r *Runner) recordEntry(p Plan, e Entry) error {
	if p.Urgent {
		r.writeIfPossible(e)
		return nil
	}
	return r.writeEntry(e)
}

// writeEntry completes the entry and appends it.
func (r *Runner) writeEntry(e Entry) error {
	e.Version, e.Time, e.Boot, e.Stateroot, e.Operation = SchemaVersion, r.Clock.Now().UTC(), r.Boot, r.Stateroot, r.Operation
	if r.Clean != nil {
		e.Error, e.Message = r.Clean(e.Error), r.Clean(e.Message)
	}
	e, err := r.Journal.appendEntry(e)
	if err != nil {
		return err
	}
	if r.Watch != nil {
		r.Watch(e)
	}
	return nil
}
