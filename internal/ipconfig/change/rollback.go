package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Rollback boots the old stateroot again.
type Rollback struct {
	Files       host.Files
	Trees       host.Trees
	Deployments host.Deployments
	Units       host.Units
	Power       host.Power
	Clock       flow.Clock
	Log         *slog.Logger
	// Evidence collects the bundle that explains the failure.
	Evidence operation.Bundle

	Request ipconfig.Request
	// To is the stateroot to go back to.
	To string
	// Cause is shown to the administrator; see the Cause constants.
	Cause string
	// FromPostPivot: post-pivot itself rolls back, so its service must not be stopped.
	FromPostPivot bool
}

// Plan lists the steps of a rollback. Evidence first, because nothing reads the new stateroot once the old system runs;
// then the flip. No step has an undo: the next run continues an interrupted rollback.
func (r *Rollback) Plan() flow.Plan {
	return flow.Plan{
		Name: ipconfig.FlowRollback, Commit: flow.FromStart, AcrossBoots: true, Urgent: true,
		Steps: []flow.Step{
			{Name: ipconfig.StepStopPostPivot, Title: "Stop the change", Again: true, Do: r.stopOthers},
			{Name: ipconfig.StepEvidence, Title: "Keep the evidence", Do: r.collectEvidence},
			{Name: ipconfig.StepHandBack, Title: "Hand the journal to the old stateroot", Again: true, Do: r.handBack},
			stateroot.FlipBack(r.Deployments, r.Trees, r.To, stateroot.Back(r.Files, r.To)),
			// After the flip: where that fails the change continues and needs them.
			{Name: ipconfig.StepWipe, Title: "Wipe the secrets", Again: true, Do: r.tryWipeSecrets},
			r.rebootStep(),
		},
	}
}

func (r *Rollback) rebootStep() flow.Step {
	s := stateroot.Reboot(r.Power, r.Clock, "IP Config: rolling back to stateroot "+r.To)
	s.Again = true
	return s
}

func (r *Rollback) stopOthers(ctx context.Context) error {
	if r.FromPostPivot {
		return nil
	}
	if err := r.Units.Stop(ctx, ipconfig.UnitIPConfiguration); err != nil {
		return fmt.Errorf("stop %s: %w", ipconfig.UnitIPConfiguration, err)
	}
	return nil
}

// collectEvidence keeps what explains the failure in the stateroot that boots next, and in the one that is left. It never
// stops the rollback.
func (r *Rollback) collectEvidence(ctx context.Context) error {
	for _, stateroot := range []string{r.To, ""} {
		b := r.Evidence
		b.Stateroot = stateroot
		if err := b.Collect(ctx); err != nil {
			r.Log.Warn("the evidence could not be kept", "op", b.Operation, "stateroot", stateroot, "error", err)
		}
	}
	return nil
}

// handBack gives the old stateroot the journal as it stands, and the exported
// object the reason, so that the old cluster can say what happened.
//
// A full disk or a lost journal must not keep the node from going back: the old
// system then knows less, and says so.
func (r *Rollback) handBack(context.Context) error {
	if err := stateroot.HandBackJournal(r.Files, r.Request.OperationID, r.To); err != nil {
		r.Log.Error("the journal could not be handed back", "op", r.Request.OperationID, "stateroot", r.To, "error", err)
	}
	if r.Cause == ipconfig.CauseRequested {
		return nil
	}
	if err := r.recordCause(); err != nil {
		r.Log.Warn("the exported IPConfig could not be updated; the journal has the cause", "error", err)
	}
	return nil
}

// recordCause writes the cause into the exported IPConfig's failed conditions.
func (r *Rollback) recordCause() error {
	file := host.InVar(r.To, ipconfig.SavedObjectFile)
	data, err := r.Files.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return fmt.Errorf("decode %s: %w", file, err)
	}
	status, _ := object["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["reason"] == "Failed" {
			m["message"] = r.Cause
		}
	}
	out, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", file, err)
	}
	if err := r.Files.Write(file, out, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
