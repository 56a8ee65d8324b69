package onsite

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Keep gives the factory state up: the node stays as it is on its site, and has no way back any more.
func (s *Service) Keep(ctx context.Context) error {
	record, err := relocation.ReadRecord(s.Files)
	if err != nil {
		return err
	}
	last, err := relocation.ReadLast(s.Files)
	if err != nil {
		return err
	}
	here, err := operation.Locate(ctx, s.Deployments, s.Power)
	if err != nil {
		return err
	}
	if last.Outcome != relocation.OutcomeHome || here.Booted.Stateroot == record.Factory {
		return operation.Refuse("the node is not at home on a site: the factory state is its only way back")
	}
	r := relocation.Request{OperationID: last.OperationID, Factory: record.Factory, Site: here.Booted.Stateroot}
	return s.openOperation(r, here).Run(ctx, s.keepPlan(r))
}

// keepPlan lists the steps. None has an undo, which is why it runs only when a person asks for it.
func (s *Service) keepPlan(r relocation.Request) flow.Plan {
	return flow.Plan{
		Name: relocation.FlowKeep, Commit: flow.FromStart, AcrossBoots: true, Urgent: true,
		Steps: []flow.Step{
			stateroot.RemoveOthers(s.Deployments, func(name string, all []host.Deployment, booted host.Deployment) bool {
				return name == r.Factory || relocation.IsSite(name) && s.isLeft(r, name, all, booted)
			}),
			{Name: relocation.StepForget, Title: "Remove the units and the factory's record", Again: true, Do: s.removeFactoryRecord},
		},
	}
}

// isLeft says that an attempt left the stateroot behind: it never came home.
func (s *Service) isLeft(r relocation.Request, name string, all []host.Deployment, booted host.Deployment) bool {
	if here, _, _ := operation.ReadStateroot(s.Files, booted); here.LeadsTo(name) {
		return false
	}
	if site, found, _ := operation.ReadStaterootOf(s.Files, all, name); found {
		return site.Confirmed.IsZero()
	}
	return !s.isWayBack(r, name, booted)
}

// isWayBack judges a stateroot without a record, which an earlier version made. It says that the stateroot that runs is not
// one of the site's but was made from this one, by a change of its address: this one is the way back of the
// change. Where that cannot be read it stays.
func (s *Service) isWayBack(r relocation.Request, name string, booted host.Deployment) bool {
	if relocation.IsSite(booted.Stateroot) {
		return false
	}
	last, err := relocation.ReadLastOf(s.Files, name)
	return err != nil || last.OperationID == r.OperationID && last.Outcome == relocation.OutcomeHome
}

// removeFactoryRecord removes the record last: with it an interrupted run can be repeated.
func (s *Service) removeFactoryRecord(ctx context.Context) error {
	if err := s.recordEnd(ctx); err != nil {
		return err
	}
	units := []string{relocation.UnitMonitor, relocation.UnitPage, relocation.UnitReconfigure}
	if err := factory.RemoveUnits(ctx, s.Node, units...); err != nil {
		return err
	}
	if err := factory.Unhold(ctx, s.Node); err != nil {
		return err
	}
	if err := s.Files.Remove(relocation.IssueFile); err != nil {
		return fmt.Errorf("take the result off the console: %w", err)
	}
	if err := stateroot.DropBallast(s.Files); err != nil {
		return fmt.Errorf("free the room kept for a rollback: %w", err)
	}
	return s.Files.Remove(relocation.RecordFile)
}

// recordEnd records that the site's stateroot is at rest. One that a change of the address made from it keeps its own way back.
func (s *Service) recordEnd(ctx context.Context) error {
	here, err := operation.Locate(ctx, s.Deployments, s.Power)
	if err != nil {
		return err
	}
	if !relocation.IsSite(here.Booted.Stateroot) {
		return nil
	}
	now := s.Clock.Now()
	return operation.End(s.Files, here.Booted, operation.Stateroot{MadeBy: relocation.MadeBy, Made: now.UTC()}, now)
}
