package ipconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// RollbackTarget is the stateroot that a rollback of the request goes back to: the one
// asked for, else the request's old one. It must be deployed and must not run.
func RollbackTarget(ctx context.Context, d host.Deployments, want string) (host.Deployment, error) {
	all, err := d.List(ctx)
	if err != nil {
		return host.Deployment{}, fmt.Errorf("list deployments: %w", err)
	}
	target, ok := host.FirstOf(all, want)
	switch {
	case !ok:
		return host.Deployment{}, refuse("stateroot %s is no longer there: there is nothing to go back to", want)
	case target.Booted:
		return host.Deployment{}, refuse("stateroot %s is the one that runs: there is nothing to roll back", want)
	}
	return target, nil
}

func (r *Rollback) stopOthers(ctx context.Context) error {
	if r.FromPostPivot {
		return nil
	}
	if err := r.Node.Units.Stop(ctx, host.UnitIPConfiguration); err != nil {
		return fmt.Errorf("stop %s: %w", host.UnitIPConfiguration, err)
	}
	return nil
}

// collectEvidence keeps what explains the failure in the stateroot that boots next. It never stops the rollback.
func (r *Rollback) collectEvidence(ctx context.Context) error {
	b := &Bundle{Node: r.Node, Operation: r.Request.OperationID, Cause: r.Cause, Stateroot: r.To}
	if err := b.Collect(ctx); err != nil {
		r.Node.Log.Warn("the evidence could not be kept", "op", b.Operation, "error", err)
	}
	return nil
}

// handBack gives the old stateroot the journal as it stands, and the exported
// object the reason, so that the old cluster can say what happened.
//
// A full disk or a lost journal must not keep the node from going back: the old
// system then knows less, and says so.
func (r *Rollback) handBack(context.Context) error {
	journal := JournalPath(r.Request.OperationID)
	data, err := r.Node.Files.Read(journal)
	if err == nil {
		err = r.Node.Files.Write(host.InVar(r.To, PivotedJournalPath(r.Request.OperationID)), data, 0o600)
	}
	if err != nil {
		r.Node.Log.Error("the journal could not be handed back", "op", r.Request.OperationID, "stateroot", r.To, "error", err)
	}
	if r.Cause == CauseRequested {
		return nil
	}
	if err := r.explain(); err != nil {
		r.Node.Log.Warn("the exported IPConfig could not be updated; the journal tells the cause", "error", err)
	}
	return nil
}

// explain writes the cause into the exported IPConfig's failed conditions.
func (r *Rollback) explain() error {
	file := host.InVar(r.To, host.SavedIPConfig)
	data, err := r.Node.Files.Read(file)
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
	return r.Node.Files.Write(file, out, 0o600)
}

func (r *Rollback) flipped(ctx context.Context) (bool, error) {
	return isDefault(ctx, r.Node.Deployments, r.To)
}

// flip is the point from which a stop of this program comes too late: what boots next and what runs must
// not stay two different things.
func (r *Rollback) flip(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := r.Node.Trees.Sync(host.DeployDir); err != nil {
		return fmt.Errorf("flush %s to the disk: %w", host.DeployDir, err)
	}
	if err := r.Node.Deployments.SetDefault(ctx, r.To); err != nil {
		return fmt.Errorf("make %s the default: %w", r.To, err)
	}
	return nil
}

func (r *Rollback) reboot(ctx context.Context) error {
	return reboot(ctx, r.Node, "IP Config: rolling back to stateroot "+r.To)
}
