package netpolicy

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
)

// FlowEnact and the names of its steps, as journals store them.
const (
	FlowEnact = "network-enact"

	StepSettle  = "settle"
	StepResolve = "resolve"
	StepPlan    = "plan-difference"
	StepSelect  = "select-probes"
	StepApply   = "apply"
	StepRecord  = "record"
)

// maxRuns is how often one enactment is begun: a document that crashes the node does so three times at most.
const maxRuns = 3

// Ports is what main gives the flow.
type Ports struct {
	host.Node
	Clock flow.Clock
	Log   *slog.Logger
}

// Plan lists the steps. apply is one transaction of the network port, which is crash-safe by itself: an interruption at
// any moment leaves the former network or the committed one. The steps before it only read, and write their findings to
// a file that the next enactment replaces; so nothing else needs an Undo.
func Plan(n Ports, r Request) flow.Plan {
	e := &enactment{Ports: n, request: r, store: record.Store{Files: n.Files}}
	return flow.Plan{
		Name: FlowEnact, Commit: StepApply, MaxAttempts: maxRuns, AcrossBoots: true,
		Steps: []flow.Step{
			{Name: StepSettle, Title: "Settle an interrupted change of the network", Again: true, Do: e.settleInterrupted},
			{Name: StepResolve, Title: "Resolve captures and templates", Do: e.resolveDocument},
			{Name: StepPlan, Title: "Plan the difference", Do: e.planDifference},
			{Name: StepSelect, Title: "Select the probes that pass now", Check: e.isUnchanged, Do: e.selectProbes},
			{Name: StepApply, Title: "Apply, prove and commit", Check: e.isUnchanged, Do: e.applyDocument, Undo: e.recoverApply},
			{Name: StepRecord, Title: "Record how to revert the policy", Do: e.recordEnactment, Tries: 3, Pause: recordPause},
		},
	}
}

// settleInterrupted finishes or rolls back what an earlier process left open. An error does not end the enactment: apply settles
// too, and refuses where it has to.
func (e *enactment) settleInterrupted(ctx context.Context) error {
	if err := e.Network.Recover(ctx); err != nil {
		e.Log.Warn("an earlier change of the network is not settled", "error", err)
	}
	return nil
}

// recoverApply is the undo of apply, which rolls back by itself unless its process was killed. Where the killed process had committed, the
// network keeps the document: that must not be taken for a rollback.
func (e *enactment) recoverApply(ctx context.Context) error {
	if err := e.Network.Recover(ctx); err != nil {
		return fmt.Errorf("restore profiles after an interrupted change: %w", err)
	}
	w, err := e.loadWork()
	if err != nil || !w.Changed {
		return nil //nolint:nilerr // without the work file nothing was applied
	}
	now, err := e.Network.Observe(ctx)
	if err != nil {
		return fmt.Errorf("observe the network: %w", err)
	}
	whole, err := withDropped(w.Document, w.Dropped)
	if err != nil {
		return err
	}
	differ, err := Mismatches(whole, now)
	if err != nil {
		return err
	}
	w.Kept = len(differ) == 0
	return e.saveWork(w)
}
