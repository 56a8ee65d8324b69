package factory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Cancellation gives the factory's cluster back: of a node that was prepared, and of one that came back from its site.
type Cancellation struct {
	Ports
	With operation.Instruments
	// Wrap lets tests put a crash into the plan; nil elsewhere.
	Wrap func(flow.Plan) flow.Plan
	// FromUnit: relocation.UnitReconfigure runs it itself, so it must not be stopped.
	FromUnit bool
}

// Run undoes the preparation while the factory's stateroot runs. The request for it is stored first: where a power cut ends
// it on a node that waits for a configuration, the next boot continues it.
func (c Cancellation) Run(ctx context.Context) error {
	if c.Unswept() {
		return c.removeLeftovers(ctx)
	}
	record, here, err := c.loadCancelable(ctx)
	if err != nil {
		return err
	}
	if err := c.Ask(ctx); err != nil {
		return err
	}
	o := operation.Open(record.OperationID, here, operation.Ports{Files: c.Files, Clock: c.Clock, Log: c.Log}, c.With)
	o.Wrap = c.Wrap
	return o.Run(ctx, c.Plan(record))
}

// Check refuses where there is nothing to cancel.
func (c Cancellation) Check(ctx context.Context) error {
	_, _, err := c.loadCancelable(ctx)
	return err
}

// Unswept: an earlier run was cut short at its end, with the record removed and the request for it left.
func (c Cancellation) Unswept() bool {
	pending, found, err := relocation.ReadPending(c.Files)
	return err == nil && found && pending.Action == relocation.PendingCancel && !fileExists(c.Files, relocation.RecordFile)
}

// Ask stores the request, and ends an attempt that is under way, which would hold the node.
func (c Cancellation) Ask(ctx context.Context) error {
	if err := c.Check(ctx); err != nil {
		return err
	}
	pending := relocation.Pending{
		Action: relocation.PendingCancel, Cause: "a person asked for the factory's cluster", Asked: c.Clock.Now().UTC(),
	}
	if err := operation.WriteJSON(c.Files, relocation.PendingFile, pending); err != nil {
		return err
	}
	return c.stopWaiting(ctx)
}

func (c Cancellation) loadCancelable(ctx context.Context) (relocation.Record, operation.Here, error) {
	record, err := relocation.ReadRecord(c.Files)
	if err != nil {
		return record, operation.Here{}, err
	}
	here, err := operation.Locate(ctx, c.Deployments, c.Power)
	if err != nil {
		return record, here, err
	}
	if here.Booted.Stateroot != record.Factory {
		return record, here, operation.Refuse("stateroot %s runs, not the factory's: 'lca-cli relocation rollback' boots that",
			here.Booted.Stateroot)
	}
	if _, found, err := Kind(c.Ports).Underway(ctx, c.Machine().Intake()); err != nil || found {
		return record, here, operation.Refuse("a preparation is under way (%s): run 'lca-cli relocation abort' to give it up",
			relocation.UnitPrepare)
	}
	return record, here, nil
}

// Plan lists the steps. The record goes last: with it an interrupted run can be repeated.
func (c Cancellation) Plan(r relocation.Record) flow.Plan {
	return flow.Plan{
		Name: relocation.FlowCancel, Commit: flow.FromStart, AcrossBoots: true, Urgent: true,
		Steps: []flow.Step{
			stateroot.FlipBack(c.Deployments, c.Trees, r.Factory, stateroot.Running(r.Factory)),
			{Name: relocation.StepStop, Title: "Stop waiting for a configuration", Again: true, Do: c.stopWaiting},
			stateroot.RemoveOthers(c.Deployments, isSite),
			{Name: relocation.StepRelease, Title: "Release the factory's cluster", Again: true, Do: c.releaseCluster},
			{Name: relocation.StepStart, Title: "Start the factory's cluster", Again: true, Do: c.startCluster},
			{Name: relocation.StepForget, Title: "Remove the record of the preparation", Again: true, Do: c.removeRecord},
		},
	}
}

// stopWaiting ends an attempt that is under way, too; what it has made is removed next.
func (c Cancellation) stopWaiting(ctx context.Context) error {
	units := []string{relocation.UnitReconfigure, relocation.UnitPage}
	if c.FromUnit {
		units = units[1:]
	}
	for _, unit := range units {
		if err := c.Units.Stop(ctx, unit); err != nil {
			return fmt.Errorf("stop %s: %w", unit, err)
		}
	}
	return nil
}

func (c Cancellation) releaseCluster(ctx context.Context) error { return Unhold(ctx, c.Node) }

// startLimit is how long the step waits for kubelet, whose start waits for a network. systemd continues the start.
const startLimit = 2 * time.Minute

func (c Cancellation) startCluster(ctx context.Context) error {
	once, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err := c.clusterWorkload().Revive(once)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		c.Log.Warn("the factory's cluster is starting; it needs the factory's network", "unit", host.UnitKubelet)
		return nil
	}
	return err
}

// removeRecord removes the units that wait for a configuration, and the record. From the record's removal on, the unit that
// would continue has nothing to do; until then it is enabled.
func (c Cancellation) removeRecord(ctx context.Context) error {
	if err := RemoveUnits(ctx, c.Node, relocation.UnitPage, relocation.UnitMonitor); err != nil {
		return err
	}
	for _, file := range []string{relocation.RequestFile, relocation.SiteConfigFile, relocation.RecordFile} {
		if err := c.Files.Remove(file); err != nil {
			return fmt.Errorf("remove %s: %w", file, err)
		}
	}
	return c.removeLeftovers(ctx)
}

// removeLeftovers removes what has no effect any more. The file of the unit that runs this stays until it has ended: systemd would
// not know it any more.
func (c Cancellation) removeLeftovers(ctx context.Context) error {
	if c.FromUnit {
		if err := c.Units.Disable(ctx, relocation.UnitReconfigure); err != nil {
			return fmt.Errorf("disable %s: %w", relocation.UnitReconfigure, err)
		}
	} else if err := RemoveUnits(ctx, c.Node, relocation.UnitReconfigure); err != nil {
		return err
	}
	if err := c.Files.Remove(relocation.Dir); err != nil {
		return fmt.Errorf("remove %s: %w", relocation.Dir, err)
	}
	return nil
}

func isSite(name string, _ []host.Deployment, _ host.Deployment) bool { return relocation.IsSite(name) }

// AbortPreparation takes back a preparation that is under way, once its unit was stopped. One that is past its commit point is as good
// as finished: its request goes, and a Cancellation does the rest.
func AbortPreparation(ctx context.Context, n Ports, with operation.Instruments) error {
	kind := Kind(n)
	r, found, err := kind.Underway(ctx, n.Machine().Intake())
	if err != nil || !found {
		return err
	}
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return err
	}
	if err := checkStateroot(r, here); err != nil {
		return err
	}
	entries, err := operation.ReadEntries(n.Files, r.OperationID)
	if err != nil {
		return err
	}
	if flow.Fold(r.OperationID, entries).Flow(relocation.FlowPrepare).Committed {
		return kind.Forget(n.Files, r)
	}
	return kind.Abort(ctx, n.Machine(), with, r, here)
}
