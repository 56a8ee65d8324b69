package netpolicy

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// recordEnactment writes what is in force now and how to revert it. Running it twice writes the same.
func (e *enactment) recordEnactment(ctx context.Context) error {
	w, err := e.loadWork()
	if err != nil {
		return err
	}
	if w.Changed {
		if err := e.addHistory(ctx, w); err != nil {
			return inPhase(PhaseCommit, err)
		}
	}
	switch e.request.Action {
	case ActionRevert:
		err = e.store.Forget(e.request.Policy)
	case ActionUndo:
		err = e.markUndone(ctx)
	default:
		err = e.commitDocument(ctx, w)
	}
	return inPhase(PhaseCommit, err)
}

func (e *enactment) addHistory(ctx context.Context, w work) error {
	here, err := operation.LocateAny(ctx, e.Files, e.Deployments, e.Power)
	if err != nil {
		return err
	}
	return e.store.Add(record.Change{
		Operation: e.request.OperationID, Policy: e.request.Policy, Generation: e.request.Generation, Time: e.Clock.Now().UTC(),
		Document: w.Document, Revert: w.Revert, Undoes: e.request.Undoes, Stateroot: here.Booted.Stateroot,
	})
}

// markUndone marks the change that was undone, and its policy. The record of a document that another stateroot committed stays as it is.
func (e *enactment) markUndone(ctx context.Context) error {
	here, err := operation.LocateAny(ctx, e.Files, e.Deployments, e.Power)
	if err != nil {
		return err
	}
	c, err := e.store.Undoable(e.request.Undoes, here.Booted.Stateroot)
	if err != nil {
		return fmt.Errorf("find change %s in the history: %w", e.request.Undoes, err)
	}
	c.Undone = e.request.OperationID
	if err := e.store.Add(c); err != nil {
		return err
	}
	in, err := e.store.Committed(c.Policy)
	if errors.Is(err, record.ErrNone) {
		return nil
	}
	if err != nil || in.Stateroot != here.Booted.Stateroot {
		return err
	}
	in.Undone = e.request.OperationID
	return e.store.Commit(in)
}

// commitDocument records the document. The way back to before the policy is that of its first enactment in this stateroot; what a later one
// adds is reverted with it.
func (e *enactment) commitDocument(ctx context.Context, w work) error {
	here, err := operation.LocateAny(ctx, e.Files, e.Deployments, e.Power)
	if err != nil {
		return err
	}
	revert := w.Revert
	if w.OwnRevert != "" {
		revert = w.OwnRevert
	}
	before, err := e.store.Committed(e.request.Policy)
	switch {
	case errors.Is(err, record.ErrNone):
	case err != nil:
		return err
	case before.Operation == e.request.OperationID:
		revert = before.Revert
	case before.Of(e.request.UID, here.Booted.Stateroot) && before.Undone == "":
		earlier, err := withoutDropped(before.Revert, w.Dropped)
		if err != nil {
			return err
		}
		if revert, err = combineDocuments(earlier, revert); err != nil {
			return err
		}
	}
	return e.store.Commit(record.Committed{
		Policy: e.request.Policy, UID: e.request.UID, Generation: e.request.Generation, Operation: e.request.OperationID,
		Time: e.Clock.Now().UTC(), Document: w.Document, Revert: revert, Before: w.Before, Captured: w.Captured,
		Ephemeral: e.request.Persistence == Ephemeral, Boot: here.Boot,
		Stateroot: here.Booted.Stateroot,
	})
}
