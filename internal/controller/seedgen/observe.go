package seedgen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
)

// Node is the node the agent runs on. Where the agent may use part of a port only, the rest is lca-cli's.
type Node struct {
	Files       host.Files
	Disk        Disk
	Deployments Deployments
	Units       Units
	Transients  host.Transients
	Lock        Lock
	Boots       operation.Boots
}

// Disk is the agent's part of host.Trees.
type Disk interface {
	Usage(ctx context.Context, path string) (host.Size, error)
	Free(path string) (host.Size, error)
	Shares(path string) (bool, error)
}

// Deployments is the agent's part of host.Deployments.
type Deployments interface {
	CanSetDefault(ctx context.Context) error
}

// Units is the agent's part of host.Units: to observe lca-cli, and to abort it.
type Units interface {
	State(ctx context.Context, unit string) (host.UnitState, error)
	Stop(ctx context.Context, unit string) error
}

// Lock is the agent's part of host.NodeLock.
type Lock interface {
	Holder(ctx context.Context) (h host.Holder, held bool, err error)
}

// observation is everything on the node that a decision rests on.
type observation struct {
	now  time.Time
	boot string
	// record is the generation under way; nil for none. unreadable says why it cannot be read.
	record     *record.Record
	unreadable string
	// unit makes the image, aborting gives it up.
	unit, aborting host.UnitState
	progress       seed.Progress
	// outcome is what the generation published; nil until it has.
	outcome *seed.Outcome
	// secrets is what it found of secrets; nil until it has searched.
	secrets  *seed.SecretReport
	evidence []string
}

// observeNode reads the unit first, so that what a unit at rest has written is read after it.
func (r *Reconciler) observeNode(ctx context.Context) (observation, error) {
	o := observation{now: r.Now()}
	states, err := nodejob.Observe(ctx, r.Node.Units, seed.UnitCreate, unitAbort)
	if err != nil {
		return o, err
	}
	o.unit, o.aborting = states[seed.UnitCreate], states[unitAbort]
	boot, err := r.Node.Files.Read(host.BootIDFile)
	if err != nil {
		return o, fmt.Errorf("read boot id: %w", err)
	}
	o.boot = strings.TrimSpace(string(boot))
	o.record, err = record.Read(r.Node.Files)
	if err != nil {
		o.unreadable = status.OneLine(err.Error())
		return o, nil
	}
	if o.record == nil {
		return o, nil
	}
	return o, r.observeOperation(&o)
}

func (r *Reconciler) observeOperation(o *observation) (err error) {
	id := o.record.OperationID
	if o.progress, err = seed.ReadProgress(r.Node.Files, id); err != nil {
		return fmt.Errorf("read the journal of operation %s: %w", id, err)
	}
	o.evidence = operation.Records(r.Node.Files, id)
	outcome, err := seed.ReadOutcome(r.Node.Files)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil: // the image is published; that its description is damaged is no reason to fail
		r.Log.Warn("the outcome of the seed generation cannot be read", "op", id, "error", err)
	case outcome.OperationID == id:
		o.outcome = &outcome
	}
	report, err := seed.ReadSecretReport(r.Node.Files)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		r.Log.Warn("the report about secrets cannot be read", "op", id, "error", err)
	case report.OperationID == id:
		o.secrets = &report
	}
	return nil
}

// isCaptured reports that the copy is made: what happens to the cluster afterwards is in no image.
func (o observation) isCaptured() bool {
	for _, s := range o.progress.Timeline {
		if s.Flow == seed.FlowCreate && s.Step == seed.StepCapture && s.Kind == flow.KindDone {
			return true
		}
	}
	return false
}

// imagerGaveUp reports that lca-cli ended for good without the journal's saying so.
func (o observation) imagerGaveUp() bool {
	return o.unit.Active == "failed" && (o.unit.ExitCode == host.FinalExit || !o.progress.Create.Begun)
}
