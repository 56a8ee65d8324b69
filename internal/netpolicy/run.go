package netpolicy

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Run carries out the request file, from wherever an earlier run ended. When the flow has ended, in either way, the
// outcome is on disk and the request is gone.
func Run(ctx context.Context, n Ports, with operation.Instruments) error {
	return run(ctx, n, with, nil)
}

func run(ctx context.Context, n Ports, with operation.Instruments, wrap func(flow.Plan) flow.Plan) error {
	r, err := ReadRequest(n.Files)
	if err != nil {
		return err
	}
	if err := r.Check(); err != nil {
		return errors.Join(err, n.Files.Remove(RequestFile))
	}
	here, err := operation.LocateAny(ctx, n.Files, n.Deployments, n.Power)
	if err != nil {
		return err
	}
	if r.Stateroot != "" && r.Stateroot != here.Booted.Stateroot {
		return foreign(n, r, here)
	}
	o := operation.Open(r.OperationID, here, operation.Ports{Files: n.Files, Clock: n.Clock, Log: n.Log}, with)
	o.Wrap = wrap
	return finish(ctx, n, r, o.Run(ctx, Plan(n, r)))
}

// foreign drops a request that came with the copy of a stateroot: its network is not the one that the request was made for. The agent
// makes another where the policy still asks for it.
func foreign(n Ports, r Request, here operation.Here) error {
	n.Log.Warn("the enactment was requested in another stateroot and is dropped",
		"op", r.OperationID, "policy", r.Policy, "requested", r.Stateroot, "booted", here.Booted.Stateroot)
	if err := n.Files.Remove(RequestFile); err != nil {
		return fmt.Errorf("remove the request of %s: %w", r.OperationID, err)
	}
	return nil
}

// ended says that a run leaves nothing to another one: it finished, it was rolled back, or it was given up behind its commit point. A
// journal that this version cannot read has not ended: a version that reads it continues.
func ended(err error) bool {
	var failed *flow.FailedError
	if err == nil || errors.As(err, &failed) && failed.RolledBack {
		return true
	}
	return errors.Is(err, flow.ErrGivenUp) && !errors.Is(err, flow.ErrUnreadable)
}

// finish writes the outcome of a flow that has ended, then removes its request: the agent finds one of them at any time.
func finish(ctx context.Context, n Ports, r Request, err error) error {
	if !ended(err) {
		return err
	}
	kept, kerr := recordKept(ctx, n, r, err)
	if kerr != nil {
		return errors.Join(err, kerr)
	}
	if kept {
		err = nil
	}
	if oerr := writeOutcome(n.Files, outcomeOf(n, r, err)); oerr != nil {
		return errors.Join(err, oerr)
	}
	if rerr := n.Files.Remove(RequestFile); rerr != nil {
		return errors.Join(err, fmt.Errorf("remove the request of %s: %w", r.OperationID, rerr))
	}
	return errors.Join(err, prune(n.Files, r.OperationID))
}

func outcomeOf(n Ports, r Request, err error) Outcome {
	o := Outcome{
		Operation: r.OperationID, Action: r.Action, Policy: r.Policy, UID: r.UID, Generation: r.Generation, Attempt: r.Attempt,
		Result: ResultUnchanged, Ended: n.Clock.Now().UTC(),
	}
	o.Started = o.Ended
	if entries, jerr := operation.ReadEntries(n.Files, r.OperationID); jerr == nil {
		if f := flow.Fold(r.OperationID, entries).Flow(FlowEnact); f.Begun {
			o.Started = f.Started
		}
	}
	e := &enactment{Ports: n, request: r}
	w, lerr := e.load()
	if lerr == nil {
		o.Document, o.Changes, o.Captured, o.Skipped = w.Document, w.Changes, w.Captured, w.Skipped
		for _, p := range w.Required {
			o.Required = append(o.Required, p.String())
		}
	}
	switch {
	case err != nil:
		o.Result, o.Evidence = ResultFailed, failure(w, err)
	case w.Changed:
		o.Result = ResultChanged
	}
	return o
}

// failure is the evidence of an enactment that has ended with an error.
func failure(w work, err error) *Evidence {
	var failed *flow.FailedError
	if errors.As(err, &failed) && failed.Committed {
		evidence := evidenceOf(in(PhaseCommit, fmt.Errorf("the network is committed, and that could not be recorded: %w", err)))
		return &evidence
	}
	evidence := w.Evidence
	if evidence == nil {
		e := evidenceOf(err)
		evidence = &e
	}
	evidence.RolledBack = true
	return evidence
}

// recordKept records a network that an earlier run committed and could not journal, because it was killed in between. Its plan was
// rolled back afterwards, but what the network port has committed it does not roll back.
func recordKept(ctx context.Context, n Ports, r Request, err error) (bool, error) {
	e := &enactment{Ports: n, request: r, store: record.Store{Files: n.Files}}
	if err == nil || !e.kept() {
		return false, nil
	}
	n.Log.Info("an interrupted run had committed the network; it is recorded", "op", r.OperationID, "policy", r.Policy)
	return true, e.record(ctx)
}

func (e *enactment) kept() bool {
	w, err := e.load()
	return err == nil && w.Kept
}

// Unreadable reports whether the journal of an enactment is one that this version cannot read.
func Unreadable(files host.Files, r Request) bool {
	data, err := files.Read(operation.JournalPath(r.OperationID))
	if err != nil {
		return false
	}
	_, err = flow.Decode(data)
	return errors.Is(err, flow.ErrUnreadable)
}

// Reservation reports whether an enactment is unfinished in this boot: its unit starts it again, and no other flow may
// change the node meanwhile.
func Reservation(n Ports) host.Reservation {
	return host.Reservation{Flow: FlowEnact, Unfinished: func(ctx context.Context) (host.Holder, bool, error) {
		r, err := ReadRequest(n.Files)
		if errors.Is(err, ErrNoRequest) {
			return host.Holder{}, false, nil
		}
		if err != nil {
			return host.Holder{}, false, err
		}
		entries, err := operation.ReadEntries(n.Files, r.OperationID)
		if err != nil {
			return host.Holder{}, false, err
		}
		boot, err := n.Power.BootID(ctx)
		if err != nil {
			return host.Holder{}, false, fmt.Errorf("read the boot id: %w", err)
		}
		f := flow.Fold(r.OperationID, entries).Flow(FlowEnact)
		phase, since := operation.Phase(FlowEnact, f)
		h := host.Holder{Operation: FlowEnact + " " + r.OperationID, Phase: phase, Boot: boot, Since: since}
		return h, f.Running() && f.Boot == boot, nil
	}}
}
