package onsite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Causes of a rollback.
const (
	CauseRequested = "a person asked for the factory state"
	causeWatchdog  = "the reconfiguration was not proved healthy within "
)

// Back boots the factory's stateroot again, where the node waits for another configuration.
type Back struct {
	Ports
	Operation *operation.Operation
	Record    relocation.Record
	Request   relocation.Request
	Cause     string
	// FromUnit: the unit that reconfigures runs it itself, so it must not be stopped.
	FromUnit bool
}

func (s *Service) newBack(o *operation.Operation, record relocation.Record, r relocation.Request, cause string) *Back {
	return &Back{Ports: s.Ports, Operation: o, Record: record, Request: r, Cause: cause}
}

// OpenBack prepares the rollback of the operation that reconfigures, or has reconfigured, the stateroot that runs.
func (s *Service) OpenBack(ctx context.Context, cause string) (*Back, error) {
	record, err := relocation.ReadRecord(s.Files)
	if err != nil {
		return nil, err
	}
	here, err := operation.Locate(ctx, s.Deployments, s.Power)
	if err != nil {
		return nil, err
	}
	r := s.requestToLeave(ctx, record)
	r.Factory, r.Site = record.Factory, here.Booted.Stateroot
	if _, err := stateroot.WayBack(ctx, s.Files, s.Deployments, r.Factory); err != nil {
		return nil, err
	}
	return s.newBack(s.openOperation(r, here), record, r, cause), nil
}

// resumeRollBack continues an interrupted rollback before anything else. Where that cannot be done the site's system is
// better than none: the caller finishes it.
func (s *Service) resumeRollBack(ctx context.Context, o *operation.Operation, record relocation.Record, r relocation.Request) error {
	entries, err := o.Entries()
	if err != nil || !flow.Fold(o.ID, entries).Flow(relocation.FlowRollback).Running() {
		return nil //nolint:nilerr // a journal that cannot be read is for the plan to judge
	}
	b := s.newBack(o, record, r, causeOf(entries))
	b.FromUnit = true
	if err := b.Run(ctx); errors.Is(err, flow.ErrLeaving) || ctx.Err() != nil {
		return err
	} else if err != nil {
		s.Log.Error("the rollback that was begun cannot be finished", "op", o.ID, "error", err)
	}
	return nil
}

func causeOf(entries []flow.Entry) string {
	for _, e := range entries {
		if e.Flow == relocation.FlowRollback && e.Kind == flow.KindNote {
			return e.Message
		}
	}
	return CauseRequested
}

// Run rolls back; it ends in a reboot.
func (b *Back) Run(ctx context.Context) error {
	if _, err := stateroot.WayBack(ctx, b.Files, b.Deployments, b.Request.Factory); err != nil {
		return err
	}
	if err := stateroot.DropBallast(b.Files); err != nil {
		b.Log.Error("the room kept for a rollback could not be freed", "op", b.Request.OperationID, "error", err)
	}
	if err := b.Operation.Runner.Note(relocation.FlowRollback, b.Cause, time.Time{}); err != nil {
		b.Log.Error("the cause of the rollback could not be journaled", "op", b.Request.OperationID, "error", err)
	}
	return b.Operation.Run(ctx, b.Plan())
}

// Plan lists the steps. The factory's stateroot is written to before the flip only.
func (b *Back) Plan() flow.Plan {
	reboot := stateroot.Reboot(b.Power, b.Clock, "Relocation: going back to stateroot "+b.Request.Factory)
	reboot.Again = true
	return flow.Plan{
		Name: relocation.FlowRollback, Commit: flow.FromStart, AcrossBoots: true, Urgent: true,
		Steps: []flow.Step{
			{Name: relocation.StepStop, Title: "Stop the reconfiguration", Again: true, Do: b.stopOthers},
			{Name: relocation.StepEvidence, Title: "Keep the evidence", Do: b.collectEvidence},
			{Name: relocation.StepHold, Title: "Make the stateroot that boots next ready", Again: true, Do: b.prepareTarget},
			{Name: relocation.StepHandBack, Title: "Hand the journal to the factory state", Again: true, Do: b.handBack},
			stateroot.FlipBack(b.Deployments, b.Trees, b.Request.Factory, stateroot.Back(b.Files, b.Request.Factory)),
			{Name: relocation.StepWipe, Title: "Wipe the secrets", Again: true, Do: b.wipeSecrets},
			reboot,
		},
	}
}

func (b *Back) stopOthers(ctx context.Context) error {
	if b.FromUnit {
		return nil
	}
	if err := b.Units.Stop(ctx, relocation.UnitReconfigure); err != nil {
		return fmt.Errorf("stop %s: %w", relocation.UnitReconfigure, err)
	}
	return nil
}

// collectEvidence keeps what explains the failure in the stateroot that boots next. It never stops the rollback.
func (b *Back) collectEvidence(ctx context.Context) error {
	bundle := operation.Bundle{
		Files: b.Files, Logs: b.Logs, Clock: b.Clock, Operation: b.Request.OperationID, Cause: b.Cause, Stateroot: b.Request.Factory,
		Secrets: operation.Secrets{Credentials: []string{relocation.SiteConfigFile, host.RecertConfig, host.KubeletConfigJSON,
			relocation.PasswordFile}},
		Documents: []operation.Document{
			operation.FileDocument(b.Files, "nmstate.yaml", relocation.NMStateFile),
			operation.FileDocument(b.Files, "recert-summary.yaml", host.RecertSummary),
		},
		Units: []string{relocation.UnitReconfigure, relocation.UnitMonitor, host.UnitKubelet, host.UnitCRIO,
			"NetworkManager.service", "nodeip-configuration.service", host.UnitOVSConfiguration, host.UnitDnsmasq},
	}
	if err := bundle.Collect(ctx); err != nil {
		b.Log.Warn("the evidence could not be kept", "op", b.Request.OperationID, "error", err)
	}
	return nil
}

// prepareTarget also tells the factory state what happened, so that the same configuration is not tried again by itself.
func (b *Back) prepareTarget(ctx context.Context) error {
	target, err := stateroot.WayBack(ctx, b.Files, b.Deployments, b.Request.Factory)
	if err != nil {
		return err
	}
	if err := b.settleCluster(ctx, target); err != nil {
		return err
	}
	// What came back is over there too: it would be continued otherwise. So would an older request to go back.
	for _, f := range []string{relocation.RequestFile, relocation.SiteConfigFile, relocation.TypedFile, relocation.PendingFile,
		relocation.OlderPendingFile} {
		if err := b.Files.Remove(host.InVar(b.Request.Factory, f)); err != nil {
			return fmt.Errorf("remove the request from the factory state: %w", err)
		}
	}
	step := ""
	if entries, err := b.Operation.Entries(); err == nil {
		if f := flow.Fold(b.Operation.ID, entries).Flow(relocation.FlowReconfigure); !f.Finished {
			step = f.Step
		}
	}
	earlier, err := relocation.ReadLast(b.Files)
	if err != nil {
		earlier = relocation.Last{}
	}
	last := earlier.Next(relocation.Last{OperationID: b.Request.OperationID, Digest: b.Request.Digest, Source: b.Request.Source,
		Outcome: relocation.OutcomeReturned, Ended: b.Clock.Now().UTC(), Step: step, Cause: b.Cause})
	return operation.WriteJSON(b.Files, host.InVar(b.Request.Factory, relocation.LastFile), last)
}

// handBack: a full disk or a lost journal must not keep the node from going back.
func (b *Back) handBack(context.Context) error {
	if err := stateroot.HandBackJournal(b.Files, b.Request.OperationID, b.Request.Factory); err != nil {
		b.Log.Error("the journal could not be handed back", "op", b.Request.OperationID, "error", err)
	}
	return nil
}

// wipeSecrets never stops a rollback: the stateroot is removed before the next attempt.
func (b *Back) wipeSecrets(context.Context) error {
	err := errors.Join(wipeSecretFiles(b.Files), b.Files.Remove(relocation.HandoverFile), b.dropConfig(), relocation.ForgetPending(b.Files))
	if err != nil {
		b.Log.Warn("secrets could not be wiped", "op", b.Request.OperationID, "error", err)
	}
	return nil
}

// dropConfig keeps the configuration while the site's system may still have to finish: until the flip.
func (b *Back) dropConfig() error { return b.Files.Remove(relocation.SiteConfigFile) }

// settleCluster decides what the cluster that the node goes back to does: it waits for another configuration, or starts.
func (b *Back) settleCluster(ctx context.Context, target host.Deployment) error {
	if running := b.Record.Running; running != nil {
		return b.removeLeftovers(ctx, *running, target)
	}
	return factory.HoldBack(ctx, b.Node, target)
}

func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "; ")
}
