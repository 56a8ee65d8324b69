package onsite

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// AskBack stores the request for the factory state, and has a unit of its own carry it out: a rollback stops the units of the
// reconfiguration, one of which may be the caller's. It is refused where there is no way back.
func (s *Service) AskBack(ctx context.Context, cause string) error {
	if _, err := s.OpenBack(ctx, cause); err != nil {
		return err
	}
	s.storePendingRollback(ctx, cause)
	if err := s.Transients.Forget(ctx, relocation.UnitRollback); err != nil {
		s.Log.Warn("an earlier unit of a rollback is still known", "error", err)
	}
	err := s.Transients.Launch(ctx, host.Transient{Unit: relocation.UnitRollback, Restart: true,
		Description: "Lifecycle Agent: go back to the factory state", Argv: []string{host.CLI, "relocation", "rollback", "--run"}})
	if err != nil && !errors.Is(err, host.ErrUnitRunning) {
		return fmt.Errorf("start %s: %w", relocation.UnitRollback, err)
	}
	return nil
}

// storePendingRollback stores the request, with the unit that carries it out after a power cut: a node that is at home has disabled it. A
// full disk must not keep the node from going back.
func (s *Service) storePendingRollback(ctx context.Context, cause string) {
	if err := s.Units.Enable(ctx, relocation.UnitReconfigure); err != nil {
		s.Log.Error("the rollback would not survive a power cut", "error", err)
	}
	pending := relocation.Pending{Action: relocation.PendingRollback, Cause: oneLine(cause), Asked: s.Clock.Now().UTC()}
	if err := operation.WriteJSON(s.Files, relocation.PendingFile, pending); err != nil {
		s.Log.Error("the rollback would not survive a power cut", "error", err)
	}
}

// RollBack carries out what is pending, in a process that no step stops. lock is taken once the reconfiguration was stopped.
func (s *Service) RollBack(ctx context.Context, lock func(context.Context) (func(), error)) error {
	cause := CauseRequested
	if pending, found, err := relocation.ReadPending(s.Files); err == nil && found && pending.Cause != "" {
		cause = pending.Cause
	}
	b, err := s.OpenBack(ctx, cause)
	if err != nil {
		return err
	}
	if err := b.stopOthers(ctx); err != nil {
		return err
	}
	release, err := lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	return b.Run(ctx)
}

// resumePending carries out, before anything else, what was asked for and cut short. done: the service has nothing more to do.
func (s *Service) resumePending(ctx context.Context, record relocation.Record, here operation.Here) (done bool, err error) {
	pending, found, err := relocation.ReadPending(s.Files)
	if err != nil {
		s.Log.Error("what was asked for cannot be read", "error", err)
		return false, relocation.ForgetPending(s.Files)
	}
	if !found {
		return false, nil
	}
	s.Log.Info("continuing what was asked for", "action", pending.Action, "cause", pending.Cause)
	release, err := s.acquireLock(ctx, relocation.Request{OperationID: record.OperationID}, "lca-cli relocation reconfigure")
	if err != nil {
		return false, err
	}
	defer release()
	atFactory := here.Booted.Stateroot == record.Factory
	switch {
	case pending.Action == relocation.PendingRollback && !atFactory:
		return s.goBack(ctx, pending.Cause)
	case pending.Action == relocation.PendingCancel && atFactory:
		return true, factory.Cancellation{Ports: s.factoryPorts(), With: s.With, Wrap: s.Wrap, FromUnit: true}.Run(ctx)
	}
	return false, relocation.ForgetPending(s.Files)
}

// goBack returns where there is no way back any more: the site's system is better than none.
func (s *Service) goBack(ctx context.Context, cause string) (done bool, err error) {
	b, err := s.OpenBack(ctx, cause)
	if errors.Is(err, operation.ErrRefused) {
		s.Log.Error("the rollback that was asked for cannot be carried out", "error", err)
		return false, relocation.ForgetPending(s.Files)
	}
	if err != nil {
		return false, err
	}
	b.FromUnit = true
	return true, b.Run(ctx)
}

// Watch waits until the limit of the reconfiguration has passed, and has a unit of its own go back then. It returns nil
// where there is nothing to watch, ctx ended first, or the rollback is under way.
func (s *Service) Watch(ctx context.Context, alive func()) error {
	r, found, damage, err := FindRequest(ctx, s.Node)
	if damage != nil {
		s.Log.Warn("the request cannot be read; the watchdog does without it", "op", r.OperationID, "file", relocation.RequestFile,
			"error", damage)
	}
	if err != nil || !found {
		return err
	}
	record, err := relocation.ReadRecord(s.Files)
	if err != nil {
		return err
	}
	dog := stateroot.Watchdog{Files: s.Files, Clock: s.Clock, Log: s.Log, Operation: r.OperationID,
		Record: relocation.WatchedFile, Limit: record.Limit(), Alive: alive}
	if err := dog.Watch(ctx); err != nil {
		return nil //nolint:nilerr // stopped on request: the node is at home, or goes down
	}
	return s.AskBack(ctx, causeWatchdog+record.Limit().String())
}

// releaseStep lets the cluster start, which was held back until it had its identity.
func (p *Reconfiguration) releaseStep() flow.Step {
	return flow.Step{Name: relocation.StepRelease, Title: "Release the cluster", Do: func(ctx context.Context) error {
		// nodeip-configuration takes the first address of the port, and the laptop's network was there before the site's.
		if p.Record.Internal.IsValid() && !p.Record.Decoupled() && p.Withdraw != nil {
			if err := p.Withdraw(ctx, p.Record.Internal); err != nil {
				return fmt.Errorf("withdraw the known address: %w", err)
			}
		}
		if err := p.Files.Remove(relocation.HoldFile); err != nil {
			return fmt.Errorf("release the cluster: %w", err)
		}
		return nil
	}}
}
