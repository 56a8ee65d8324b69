package netpolicy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/probing"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// errUnprovable says that nothing was tried: a gateway may answer a moment later.
var errUnprovable = errors.New("nothing was changed")

// recordPause lies between two tries to write the record.
const recordPause = time.Second

// enactment is one run of the flow.
type enactment struct {
	Ports
	request Request
	store   record.Store
}

// work is what the steps found out, on disk: a restarted run continues from it.
type work struct {
	Operation string            `json:"operation"`
	Document  string            `json:"document"`
	Captured  map[string]string `json:"captured,omitempty"`
	Before    string            `json:"before,omitempty"`
	// Dropped restores what the document in force had and this one has not; empty for nothing.
	Dropped string `json:"dropped,omitempty"`
	// Changes is what differs, Revert restores what is there now.
	Changed bool     `json:"changed"`
	Changes []Change `json:"changes,omitempty"`
	Revert  string   `json:"revert,omitempty"`
	// OwnRevert restores what the policy's document alone changes, without what it dropped.
	OwnRevert string            `json:"ownRevert,omitempty"`
	Required  []probing.Probe   `json:"required,omitempty"`
	Skipped   []probing.Skipped `json:"skipped,omitempty"`
	Evidence  *Evidence         `json:"evidence,omitempty"`
	// Depends is what the document depends on, as Dependencies has it, before anything changed.
	Depends string `json:"depends,omitempty"`
	// Kept: the network has the document, although the run that committed it ended before it could journal that.
	Kept bool `json:"kept,omitempty"`
}

// wholeDocument is what is applied: the policy's document, with what it dropped restored.
func (w work) wholeDocument() (netstate.Document, error) {
	text, err := withDropped(w.Document, w.Dropped)
	if err != nil {
		return netstate.Document{}, err
	}
	return decodeDocument(text)
}

func (e *enactment) loadWork() (work, error) {
	var w work
	if err := operation.ReadJSON(e.Files, workFile, &w); err != nil {
		return w, err
	}
	if w.Operation != e.request.OperationID {
		return w, fmt.Errorf("%s is of operation %s, not of %s", workFile, w.Operation, e.request.OperationID)
	}
	return w, nil
}

func (e *enactment) saveWork(w work) error { return operation.WriteJSON(e.Files, workFile, w) }

// resolveDocument turns the policy's document into one for this node.
func (e *enactment) resolveDocument(ctx context.Context) error {
	now, err := e.Network.Observe(ctx)
	if err != nil {
		return inPhase(PhaseResolve, fmt.Errorf("observe the network: %w", err))
	}
	resolved, err := Resolve(e.request, now)
	if err != nil {
		return e.keepUnresolved(err, now)
	}
	text, err := resolved.Document.Encode()
	if err != nil {
		return e.keepUnresolved(inPhase(PhaseResolve, err), now)
	}
	return e.saveWork(work{Operation: e.request.OperationID, Document: string(text), Captured: resolved.Captured, Before: resolved.Before,
		Dropped: resolved.Dropped, Depends: Dependencies(string(text), len(e.request.Captures) > 0, now)})
}

// keepUnresolved keeps the evidence of a document that could not be resolved over the network of now.
func (e *enactment) keepUnresolved(err error, now netstate.Document) error {
	if serr := e.saveWork(work{Operation: e.request.OperationID, Depends: Dependencies("", true, now)}); serr != nil {
		return errors.Join(err, fmt.Errorf("keep the evidence: %w", serr))
	}
	return e.keepEvidence(err)
}

// planDifference compares the document with what runs.
func (e *enactment) planDifference(ctx context.Context) error {
	w, err := e.loadWork()
	if err != nil {
		return err
	}
	now, err := e.Network.Observe(ctx)
	if err != nil {
		return fmt.Errorf("observe the network: %w", err)
	}
	whole, err := withDropped(w.Document, w.Dropped)
	if err != nil {
		return e.keepEvidence(inPhase(PhaseResolve, err))
	}
	d, err := Difference(whole, now)
	if err != nil {
		return e.keepEvidence(inPhase(PhaseValidate, err))
	}
	w.Changed, w.Changes, w.Revert = len(d.Changes) > 0, d.Changes, d.Revert
	if w.Dropped != "" {
		own, err := Difference(w.Document, now)
		if err != nil {
			return e.keepEvidence(inPhase(PhaseValidate, err))
		}
		w.OwnRevert = own.Revert
	}
	return e.saveWork(w)
}

// isUnchanged says that the policy has this very document in force: there is nothing to prove and nothing to apply. A
// document that runs already, but not by this policy, is applied all the same: the port leaves what is in place alone, and
// stores what is not on disk.
func (e *enactment) isUnchanged(context.Context) (bool, error) {
	w, err := e.loadWork()
	if err != nil || w.Changed {
		return false, err
	}
	c, err := e.store.Committed(e.request.Policy)
	if errors.Is(err, record.ErrNone) {
		return false, nil
	}
	return err == nil && c.Document == w.Document && c.Undone == "" && c.Ephemeral == (e.request.Persistence == Ephemeral), err
}

// selectProbes chooses what the new network has to pass. A change of the node's only uplink that nothing could prove is
// refused.
func (e *enactment) selectProbes(ctx context.Context) error {
	w, err := e.loadWork()
	if err != nil {
		return err
	}
	if !w.Changed {
		return nil // nothing that runs will change
	}
	document, err := w.wholeDocument()
	if err != nil {
		return err
	}
	candidates, err := e.probeCandidates(document)
	if err != nil {
		return e.keepEvidence(inPhase(PhaseProbe, err))
	}
	if w.Required, w.Skipped, err = e.probeSuite().Select(ctx, candidates); err != nil {
		return e.keepEvidence(inPhase(PhaseProbe, err))
	}
	now, err := e.Network.Observe(ctx)
	if err != nil {
		return fmt.Errorf("observe the network: %w", err)
	}
	if uplink, only := OnlyUplink(document, now); only && len(w.Required) == 0 {
		refused := operation.Refuse("the document changes %s, the node's only uplink, and no probe passes now, so nothing could prove the "+
			"new network: repair the network first, or name a probe that has to pass in spec.probes", uplink)
		return e.keepEvidence(inPhase(PhaseProbe, fmt.Errorf("%w: %w", errUnprovable, refused)))
	}
	return e.saveWork(w)
}

func (e *enactment) probeSuite() probing.Suite {
	return probing.Suite{
		Prober: e.Prober, Network: e.Network, Clock: e.Clock, Timeout: time.Duration(e.request.ProbeSeconds) * time.Second,
	}
}

// applyDocument runs the transaction.
func (e *enactment) applyDocument(ctx context.Context) error {
	w, err := e.loadWork()
	if err != nil {
		return err
	}
	document, err := w.wholeDocument()
	if err != nil {
		return err
	}
	var options []host.NetworkOption
	if e.request.Persistence == Ephemeral {
		options = append(options, host.NetworkEphemeral)
	}
	prove := func(ctx context.Context) error { return e.probeSuite().Prove(ctx, w.Required) }
	err = e.keepEvidence(inPhase(PhaseApply, e.Network.Apply(ctx, document, prove, options...)))
	if errors.Is(err, host.ErrNetworkPending) {
		return errors.Join(err, e.keepDeadline(ctx))
	}
	return err
}

// keepDeadline keeps until when a change that was applied by hand waits for its commit. It is not waited for here: the commit needs the
// node's lock, which this process has.
func (e *enactment) keepDeadline(ctx context.Context) error {
	t, ok := e.Network.(host.NetworkTransaction)
	if !ok {
		return nil
	}
	p, pending, err := t.Pending(ctx)
	if err != nil || !pending {
		return nil //nolint:nilerr // it was settled meanwhile, or the next attempt fails with it
	}
	w, err := e.loadWork()
	if err != nil || w.Evidence == nil {
		return err
	}
	w.Evidence.RetryAt = p.Deadline
	return e.saveWork(w)
}

// keepEvidence keeps the evidence of a failure for the outcome; err itself goes on.
func (e *enactment) keepEvidence(err error) error {
	if err == nil {
		return nil
	}
	w, lerr := e.loadWork()
	if lerr != nil {
		w = work{Operation: e.request.OperationID}
	}
	evidence := evidenceOf(err)
	w.Evidence = &evidence
	if serr := e.saveWork(w); serr != nil {
		return errors.Join(err, fmt.Errorf("keep the evidence: %w", serr))
	}
	return err
}
