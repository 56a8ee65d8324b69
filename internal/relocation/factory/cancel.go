package factory

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Cancel undoes a preparation while the factory's stateroot runs.
func Cancel(ctx context.Context, n Ports, with operation.Instruments) error {
	record, err := relocation.ReadRecord(n.Files)
	if err != nil {
		return err
	}
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return err
	}
	if here.Booted.Stateroot != record.Factory {
		return operation.Refuse("stateroot %s runs, not the factory's: 'lca-cli relocation rollback' boots that", here.Booted.Stateroot)
	}
	if _, found, err := unfinished(n.Files); err != nil || found {
		return operation.Refuse("a preparation is under way: wait until it has ended, or stop %s and run it again", relocation.UnitPrepare)
	}
	o := operation.Open(record.OperationID, here, operation.Ports{Files: n.Files, Clock: n.Clock, Log: n.Log}, with)
	return o.Run(ctx, cancelPlan(n, record))
}

// cancelPlan lists the steps. The record goes last: with it an interrupted run can be repeated.
func cancelPlan(n Ports, r relocation.Record) flow.Plan {
	return flow.Plan{
		Name: relocation.FlowCancel, Commit: flow.FromStart, AcrossBoots: true, Urgent: true,
		Steps: []flow.Step{
			stateroot.FlipBack(n.Deployments, n.Trees, r.Factory),
			stateroot.RemoveOthers(n.Deployments, func(name string, _ host.Deployment) bool { return relocation.IsSite(name) }),
			{Name: relocation.StepForget, Title: "Remove the record of the preparation", Again: true, Do: func(context.Context) error {
				if err := n.Files.Remove(relocation.Dir); err != nil {
					return fmt.Errorf("remove %s: %w", relocation.Dir, err)
				}
				return nil
			}},
		},
	}
}
