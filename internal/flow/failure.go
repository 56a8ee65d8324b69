package flow

import (
	"context"
	"errors"
	"fmt"
)

// FailedError says which step ended a plan.
type FailedError struct {
	Flow, Step string
	Cause      error
	// RolledBack: everything begun was undone. Without it and without Committed, undoing
	// itself failed and another run will try again.
	RolledBack, Committed bool
}

func (e *FailedError) Error() string {
	if e.Step == "" {
		return fmt.Sprintf("%s could not begin: %v", e.Flow, e.Cause)
	}
	return fmt.Sprintf("%s failed at step %s: %v", e.Flow, e.Step, e.Cause)
}

func (e *FailedError) Unwrap() error { return e.Cause }

// ErrInterrupted is the cause where an earlier run did not end and was undone.
var ErrInterrupted = errors.New("an earlier run was interrupted; it was rolled back")

// ErrAborted is the cause where a caller requested the rollback.
var ErrAborted = errors.New("aborted on request")

// ErrGivenUp is the cause where a committed plan was begun too often, or where its journal does not say how far it came.
var ErrGivenUp = errors.New("given up")

// stoppedError is what is said of a step that a signal ended.
type stoppedError struct{ cause error }

func (e *stoppedError) Error() string { return "stopped from outside, by systemctl stop or a shutdown" }

func (e *stoppedError) Unwrap() error { return e.cause }

// asStoppedError replaces the error of a step that ended because its context was cancelled.
func asStoppedError(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return &stoppedError{err}
}

// givenUp is why a plan is; damage is what was found in its journal, nil for nothing.
func givenUp(pl Place, damage error) error {
	if pl.Position == Unknown && damage != nil {
		return fmt.Errorf("%w: %w", ErrGivenUp, damage)
	}
	if pl.Position == Unknown {
		return fmt.Errorf("%w: %w", ErrGivenUp, ErrUnreadable)
	}
	if pl.Failure != "" {
		return fmt.Errorf("%w after %d runs, the last failure was: %s", ErrGivenUp, pl.Attempts, pl.Failure)
	}
	return fmt.Errorf("%w after %d runs", ErrGivenUp, pl.Attempts)
}

func interruptionCause(p Plan, pl Place) error {
	if p.MaxAttempts > 0 && pl.Attempts >= p.MaxAttempts {
		return fmt.Errorf("%w after %d runs", ErrGivenUp, pl.Attempts)
	}
	return ErrInterrupted
}

// endedError answers a run of a plan that was over before.
func endedError(p Plan, pl Place) error {
	if pl.Position == Finished {
		return nil
	}
	return &FailedError{Flow: p.Name, Step: pl.Step, Cause: ErrInterrupted, RolledBack: true}
}

func (r *Runner) newFailure(p Plan, step string, cause error) *FailedError {
	return &FailedError{Flow: p.Name, Step: step, Cause: cause}
}

func (e *FailedError) markCommitted() *FailedError {
	e.Committed = true
	return e
}
