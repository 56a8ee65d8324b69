package onsite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

const (
	// retryPause is how long a configuration waits whose network did not answer: a cable may be plugged in meanwhile.
	retryPause = 20 * time.Second
	// inboxPause lies between two looks at an inbox that has nothing new.
	inboxPause = 2 * time.Second
)

// Service waits for configurations and carries them out, attempt after attempt, until the node is at home.
type Service struct {
	Ports
	With operation.Instruments
	// Wrap lets tests put a crash into a plan; nil elsewhere.
	Wrap func(flow.Plan) flow.Plan

	// told is the configuration of which the log says that it is not tried again.
	told string
}

// errAgain ends an attempt after which another configuration may come.
var errAgain = errors.New("waiting for another configuration")

// Run returns nil when the node is at home, and flow.ErrLeaving when it reboots on its way there.
func (s *Service) Run(ctx context.Context) error {
	for {
		if err := s.runAttempt(ctx); !errors.Is(err, errAgain) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err() // the caller stopped it
		}
	}
}

// runAttempt continues the attempt that is under way, or waits for a configuration and begins one.
func (s *Service) runAttempt(ctx context.Context) error {
	record, err := relocation.ReadRecord(s.Files)
	if err != nil {
		return err
	}
	here, err := operation.Locate(ctx, s.Deployments, s.Power)
	if err != nil {
		return err
	}
	if done, err := s.resumePending(ctx, record, here); done || err != nil {
		return err
	}
	request, found, err := s.loadRequest(ctx, record, here)
	if err != nil {
		return err
	}
	if !found {
		if last, err := relocation.ReadLast(s.Files); err == nil && last.Outcome == relocation.OutcomeHome {
			return s.retireRelocation(ctx) // a power cut has come between the end of the flow and that of the units, or of a rollback
		}
		if request, err = s.receiveRequest(ctx, record, here); err != nil {
			return err
		}
	}
	release, err := s.acquireLock(ctx, request, "lca-cli relocation reconfigure")
	if err != nil {
		return err
	}
	defer release()
	if here.Booted.Stateroot != request.Site {
		return s.makeStateroot(ctx, request, here)
	}
	return s.runReconfiguration(ctx, record, request, here)
}

// receiveRequest waits for a configuration that is worth an attempt, and stores it with its request.
func (s *Service) receiveRequest(ctx context.Context, record relocation.Record, here operation.Here) (relocation.Request, error) {
	d, err := s.awaitDelivery(ctx)
	if err != nil {
		return relocation.Request{}, err
	}
	id := s.NewID()
	r := relocation.Request{
		OperationID: id, Factory: record.Factory, Site: here.Booted.Stateroot,
		Source: d.Source, Digest: relocation.Digest(d.Data), Accepted: s.Clock.Now().UTC().Truncate(time.Second),
	}
	if here.Booted.Stateroot == record.Factory {
		r.Site = relocation.StaterootName(id)
	}
	if last, err := relocation.ReadLast(s.Files); err == nil {
		r.Repeats = !d.Again && last.OutcomeOf(r.Digest) == relocation.OutcomeRetry
	}
	if _, problems := siteconfig.Decode(d.Data); len(problems) > 0 {
		return r, s.endRefused(r, problemsError(problems))
	}
	if err := s.Files.Write(relocation.SiteConfigFile, d.Data, 0o600); err != nil {
		return r, fmt.Errorf("store the site configuration: %w", err)
	}
	s.Log.Info("a site configuration arrived", "op", r.OperationID, "source", r.Source)
	if err := operation.WriteJSON(s.Files, relocation.RequestFile, r); err != nil {
		return r, err
	}
	return r, s.Files.Remove(relocation.TypedFile)
}

// awaitDelivery waits for a delivery that no earlier attempt has proved useless.
func (s *Service) awaitDelivery(ctx context.Context) (Delivery, error) {
	for {
		d, err := s.Inbox.Next(ctx)
		if err != nil {
			return d, fmt.Errorf("wait for a site configuration: %w", err)
		}
		last, err := relocation.ReadLast(s.Files)
		if err != nil {
			s.Log.Warn("the result of the last attempt cannot be read", "error", err)
		}
		pause := retryDelay(d, last, s.Clock.Now())
		if pause == 0 {
			return d, nil
		}
		s.logNotRetried(d, last)
		if err := s.Clock.Sleep(ctx, pause); err != nil {
			return d, fmt.Errorf("wait for a site configuration: %w", err)
		}
	}
}

// logNotRetried logs once that a configuration is not tried again by itself. last.json shows it to the page and to status.
func (s *Service) logNotRetried(d Delivery, last relocation.Last) {
	digest := relocation.Digest(d.Data)
	if s.told == digest || last.OutcomeOf(digest) == relocation.OutcomeRetry {
		return
	}
	s.told = digest
	s.Log.Warn("this configuration was tried already and is not tried again by itself: unplug the volume and plug it in again, "+
		"or run 'lca-cli relocation apply'", "source", d.Source, "outcome", last.OutcomeOf(digest), "op", last.OperationID)
}

// retryDelay says how long to wait before a delivery is tried; 0 for now. The same configuration is tried again by itself only
// where the site's network did not answer.
func retryDelay(d Delivery, last relocation.Last, now time.Time) time.Duration {
	outcome := last.OutcomeOf(relocation.Digest(d.Data))
	switch {
	case d.Again, outcome == "":
		return 0
	case outcome == relocation.OutcomeRetry:
		return min(max(retryPause-now.Sub(last.Ended), 0), retryPause)
	}
	return inboxPause
}

// makeStateroot makes another stateroot for the configuration and reboots into it.
func (s *Service) makeStateroot(ctx context.Context, r relocation.Request, here operation.Here) error {
	o := s.openOperation(r, here)
	err := o.Run(ctx, factory.Again(s.factoryPorts(), r))
	var failed *flow.FailedError
	switch {
	case flow.EndingOf(err) == flow.EndingGivenUp:
		return fmt.Errorf("%w. The stateroot %s is ready and boots next: reboot the node to continue", err, r.Site)
	case !errors.As(err, &failed) || !failed.RolledBack:
		return err
	case errors.Is(err, flow.ErrInterrupted):
		return s.renewRequest(r)
	}
	return s.endAttempt(r, relocation.OutcomeRefused, failed.Step, err)
}

// renewRequest has the configuration carried out by a new operation: one that was typed into the page does not come again.
func (s *Service) renewRequest(r relocation.Request) error {
	r.OperationID = s.NewID()
	r.Site = relocation.StaterootName(r.OperationID)
	if err := operation.WriteJSON(s.Files, relocation.RequestFile, r); err != nil {
		return err
	}
	return errAgain
}

func (s *Service) openOperation(r relocation.Request, here operation.Here) *operation.Operation {
	o := operation.Open(r.OperationID, here, operation.Ports{Files: s.Files, Clock: s.Clock, Log: s.Log}, s.With)
	o.Wrap = s.Wrap
	return o
}

// runReconfiguration carries the configuration out in the stateroot that was made for it.
func (s *Service) runReconfiguration(ctx context.Context, record relocation.Record, r relocation.Request, here operation.Here) error {
	o := s.openOperation(r, here)
	if err := s.resumeRollBack(ctx, o, record, r); err != nil {
		return err
	}
	p := &Reconfiguration{Ports: s.Ports, Record: record, Request: r, Note: o.Runner.Note}
	err := o.Run(ctx, p.Plan())
	var failed *flow.FailedError
	switch {
	case err == nil:
		return s.atHome(ctx, r, here)
	case ctx.Err() != nil, !errors.As(err, &failed):
		return err
	case failed.RolledBack && record.Running == nil:
		return s.endAttempt(r, outcomeOf(failed), failed.Step, err)
	case !failed.RolledBack && !failed.Committed:
		return err
	}
	back := s.newBack(o, record, r, Cause(err))
	back.FromUnit = true
	s.storePendingRollback(ctx, back.Cause)
	if rerr := back.Run(ctx); rerr != nil {
		return backFailed(rerr, err)
	}
	return err
}

// backFailed is the rollback's error with its reason as text: whether another run may help is a matter of the rollback alone,
// also where the reconfiguration was given up.
func backFailed(rollback, reason error) error {
	return fmt.Errorf("%w; the reason for the rollback: %s", rollback, reason.Error())
}

// outcomeOf tells a configuration that cannot be right here from a network that may yet answer.
func outcomeOf(failed *flow.FailedError) string {
	if failed.Step == relocation.StepAccept {
		return relocation.OutcomeRefused
	}
	return relocation.OutcomeRetry
}

// Cause is an error as a journal's note: one line.
func Cause(err error) string {
	return oneLine("the reconfiguration failed: " + err.Error())
}

// endAttempt ends an attempt that has changed nothing, and has the service wait for another configuration.
func (s *Service) endAttempt(r relocation.Request, outcome, step string, cause error) error {
	s.Log.Error("the site configuration was not carried out; the node is as it was shipped", "op", r.OperationID,
		"step", step, "error", cause)
	last, err := relocation.ReadLast(s.Files)
	if err != nil {
		last = relocation.Last{}
	}
	last = last.Next(relocation.Last{OperationID: r.OperationID, Digest: r.Digest, Source: r.Source, Outcome: outcome,
		Ended: s.Clock.Now().UTC(), Step: step, Cause: oneLine(cause.Error())})
	if err := operation.WriteJSON(s.Files, relocation.LastFile, last); err != nil {
		return err
	}
	remove := []string{relocation.RequestFile, relocation.SiteConfigFile}
	if !newerTyped(s.Files, r) {
		remove = append(remove, relocation.TypedFile)
	}
	for _, f := range remove {
		if err := s.Files.Remove(f); err != nil {
			return fmt.Errorf("remove %s: %w", f, err)
		}
	}
	if err := relocation.Prune(s.Files, r.OperationID); err != nil {
		s.Log.Warn("old records could not be removed", "error", err)
	}
	return errAgain
}

// endRefused ends a configuration that is wrong in itself, before it becomes an operation.
func (s *Service) endRefused(r relocation.Request, cause error) error {
	return s.endAttempt(r, relocation.OutcomeRefused, relocation.StepAccept, cause)
}

// atHome disarms the watchdog and retires the units. It is no step: after a power cut between the two, a disabled unit
// could not finish the flow. A unit that finds everything done retires again.
func (s *Service) atHome(ctx context.Context, r relocation.Request, here operation.Here) error {
	last := relocation.Last{OperationID: r.OperationID, Digest: r.Digest, Source: r.Source,
		Outcome: relocation.OutcomeHome, Ended: s.Clock.Now().UTC(), Attempts: 1}
	if err := retireUnit(ctx, s.Units, relocation.UnitMonitor); err != nil {
		return err
	}
	if err := operation.WriteJSON(s.Files, relocation.LastFile, last); err != nil {
		return err
	}
	if err := operation.Confirm(s.Files, here.Booted, s.staterootRecord(r, here), s.Clock.Now()); err != nil {
		return err
	}
	return s.retireRelocation(ctx)
}

// staterootRecord is the record of the site's stateroot, for where it is missing: an earlier version wrote none.
func (s *Service) staterootRecord(r relocation.Request, here operation.Here) operation.Stateroot {
	made := operation.Stateroot{MadeBy: relocation.MadeBy, Operation: r.OperationID, Made: s.Clock.Now().UTC()}
	if back, ok := stateroot.Back(s.Files, r.Factory)(here.All); ok && !back.Booted {
		made.WayBack = operation.NameOf(back)
	}
	return made
}

// retireRelocation ends the units of the relocation and removes what only an attempt needs.
func (s *Service) retireRelocation(ctx context.Context) error {
	if err := retireUnit(ctx, s.Units, relocation.UnitMonitor); err != nil {
		return err
	}
	for _, f := range []string{relocation.SiteConfigFile, relocation.NMStateFile, relocation.ClusterIDFile, relocation.ConnectionsDir,
		relocation.RequestFile, relocation.TypedFile} {
		if err := s.Files.Remove(f); err != nil {
			return fmt.Errorf("remove %s: %w", f, err)
		}
	}
	// The page that runs shows the result and ends by itself.
	for _, unit := range []string{relocation.UnitPage, relocation.UnitReconfigure} {
		if err := s.Units.Disable(ctx, unit); err != nil {
			return fmt.Errorf("disable %s: %w", unit, err)
		}
	}
	return nil
}

func retireUnit(ctx context.Context, units host.Units, unit string) error {
	if err := units.Disable(ctx, unit); err != nil {
		return fmt.Errorf("disable %s: %w", unit, err)
	}
	if err := units.Stop(ctx, unit); err != nil {
		return fmt.Errorf("stop %s: %w", unit, err)
	}
	return nil
}
