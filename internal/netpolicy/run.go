package netpolicy

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
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
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return err
	}
	o := operation.Open(r.OperationID, here, operation.Ports{Files: n.Files, Clock: n.Clock, Log: n.Log}, with)
	o.Wrap = wrap
	return finish(n, r, o.Run(ctx, Plan(n, r)))
}

// finish writes the outcome of a flow that has ended, then removes its request: the agent finds one of them at any time.
func finish(n Ports, r Request, err error) error {
	var failed *flow.FailedError
	rolledBack := errors.As(err, &failed) && failed.RolledBack
	if err != nil && !rolledBack && !errors.Is(err, flow.ErrGivenUp) {
		return err
	}
	if oerr := writeOutcome(n.Files, outcomeOf(n, r, err)); oerr != nil {
		return errors.Join(err, oerr)
	}
	if rerr := n.Files.Remove(RequestFile); rerr != nil {
		return errors.Join(err, fmt.Errorf("remove the request of %s: %w", r.OperationID, rerr))
	}
	return errors.Join(err, operation.Prune(n.Files, r.OperationID))
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
		o.Result, o.Evidence = ResultFailed, w.Evidence
		if o.Evidence == nil {
			evidence := evidenceOf(err)
			o.Evidence = &evidence
		}
		o.Evidence.RolledBack = !errors.Is(err, flow.ErrGivenUp)
	case w.Changed:
		o.Result = ResultChanged
	}
	return o
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
