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

// Kind is the enactment as an operation. One that a reboot interrupted does not hold the node: it is rolled back where its unit runs
// again.
func Kind(n Ports) operation.Kind[Request] {
	return operation.Kind[Request]{
		Name: FlowEnact, RequestFile: RequestFile, Unit: Unit, PlainNodes: true, Missing: ErrNoRequest,
		WayOut:   "The network is in force; mend what kept its record from being written, then apply the policy again",
		EndedBy:  "'systemctl stop " + Unit + "'",
		ID:       func(r Request) string { return r.OperationID },
		Validate: Request.checkVersion,
		Plan:     func(r Request, _ operation.Here) flow.Plan { return Plan(n, r) },
		Conclude: n.concludeEnactment,
		Spared:   reportedOperations,
	}
}

// Run carries out the request file, from wherever an earlier run ended. When the flow has ended, in either way, the
// outcome is on disk and the request is gone.
func Run(ctx context.Context, n Ports, with operation.Instruments) error {
	return runWrapped(ctx, n, with, nil)
}

func runWrapped(ctx context.Context, n Ports, with operation.Instruments, wrap func(flow.Plan) flow.Plan) error {
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
		return dropForeignRequest(n, r, here)
	}
	kind := Kind(n)
	kind.Wrap = wrap
	return kind.Continue(ctx, operation.Machine{Node: n.Node, Clock: n.Clock, Log: n.Log}, with, r, here)
}

// dropForeignRequest drops a request that came with the copy of a stateroot: its network is not the one that the request was made
// for. The agent makes another where the policy still asks for it.
func dropForeignRequest(n Ports, r Request, here operation.Here) error {
	n.Log.Warn("the enactment was requested in another stateroot and is dropped",
		"op", r.OperationID, "policy", r.Policy, "requested", r.Stateroot, "booted", here.Booted.Stateroot)
	if err := n.Files.Remove(RequestFile); err != nil {
		return fmt.Errorf("remove the request of %s: %w", r.OperationID, err)
	}
	return nil
}

// concludeEnactment writes the outcome. The request goes after it: the agent finds one of them at any time.
func (n Ports) concludeEnactment(ctx context.Context, r Request, end error) (result, failed error) {
	if flow.EndingOf(end) == flow.EndingGivenUp {
		// What kept the record from being written may be mended by now, and without it nobody can revert the policy.
		e := &enactment{Ports: n, request: r, store: record.Store{Files: n.Files}}
		if e.recordEnactment(ctx) == nil {
			end = nil
		}
	}
	kept, err := recordKept(ctx, n, r, end)
	if err != nil {
		return end, err
	}
	if kept {
		end = nil
	}
	return end, writeOutcome(n.Files, outcomeOf(n, r, end))
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
	w, lerr := e.loadWork()
	if lerr == nil {
		o.Document, o.Changes, o.Captured, o.Skipped, o.Depends = w.Document, w.Changes, w.Captured, w.Skipped, w.Depends
		for _, p := range w.Required {
			o.Required = append(o.Required, p.String())
		}
	}
	switch {
	case err != nil:
		o.Result, o.Evidence = ResultFailed, failureEvidence(w, err)
	case w.Changed:
		o.Result = ResultChanged
	}
	return o
}

// failureEvidence is the evidence of an enactment that has ended with an error.
func failureEvidence(w work, err error) *Evidence {
	var failed *flow.FailedError
	if errors.As(err, &failed) && failed.Committed {
		evidence := evidenceOf(inPhase(PhaseCommit, fmt.Errorf("the network is committed, and that could not be recorded: %w", err)))
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
	if err == nil || !e.isNetworkKept() {
		return false, nil
	}
	n.Log.Info("an interrupted run had committed the network; it is recorded", "op", r.OperationID, "policy", r.Policy)
	return true, e.recordEnactment(ctx)
}

func (e *enactment) isNetworkKept() bool {
	w, err := e.loadWork()
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
