package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// resumeRollBack goes on with a rollback that was cut short. Where it can not be done the new
// system is better than none: the caller goes on with that.
func (o *Operation) resumeRollBack(ctx context.Context) error {
	p, err := ReadProgress(o.Node.Files, o.Request.OperationID)
	if err != nil || !p.Rollback.Running() {
		return nil //nolint:nilerr // a journal that cannot be read is for post-pivot's plan to judge
	}
	err = o.rollBack(ctx, o.Request.OldStateroot, p.Cause, true)
	if err != nil && !errors.Is(err, flow.ErrLeaving) {
		o.Node.Log.Error("the rollback that was begun cannot be finished", "op", o.Request.OperationID, "error", err)
	}
	return err
}

// CanRollBack says why a rollback to the named stateroot, or to the request's old one if empty,
// is of no use; nil when it can be tried.
func (o *Operation) CanRollBack(ctx context.Context, to string) error {
	if to != "" && to != o.Request.OldStateroot {
		return refuse("operation %s was made from stateroot %s; it can not go back to %s",
			o.Request.OperationID, o.Request.OldStateroot, to)
	}
	_, err := RollbackTarget(ctx, o.Node.Deployments, o.Request.OldStateroot)
	return err
}

// RollBack goes back to the named stateroot, or to the request's old one if empty. A rollback that was begun for
// another cause keeps that cause.
func (o *Operation) RollBack(ctx context.Context, to, cause string) error {
	if err := o.CanRollBack(ctx, to); err != nil {
		return err
	}
	if p, err := ReadProgress(o.Node.Files, o.Request.OperationID); err == nil && p.Rollback.Running() && p.Cause != "" {
		cause = p.Cause
	}
	return o.rollBack(ctx, o.Request.OldStateroot, cause, false)
}

func (o *Operation) rollBack(ctx context.Context, to, cause string, fromPostPivot bool) error {
	if _, err := RollbackTarget(ctx, o.Node.Deployments, to); err != nil {
		return err
	}
	if err := o.Runner.Note(FlowRollback, cause, noDeadline); err != nil {
		o.Node.Log.Error("the cause of the rollback could not be journaled", "op", o.Request.OperationID, "cause", cause, "error", err)
	}
	r := &Rollback{Node: o.Node, Request: o.Request, To: to, Cause: cause, FromPostPivot: fromPostPivot}
	return o.run(ctx, r.Plan())
}

// CleanUp removes what is not booted. abort first takes back a pre-pivot under way.
func (o *Operation) CleanUp(ctx context.Context) error {
	if err := o.unfinished(ctx); err != nil {
		return err
	}
	c := &Cleanup{Node: o.Node, Request: o.Request}
	if !o.InNewStateroot() {
		c.Abort = o.abort
	}
	return o.run(ctx, c.Plan())
}

// unfinished refuses to throw away the way back, and the service that is to start the cluster, while
// the cluster would not come up without it.
func (o *Operation) unfinished(ctx context.Context) error {
	if !o.InNewStateroot() {
		return nil
	}
	if p, err := ReadProgress(o.Node.Files, o.Request.OperationID); err == nil && p.PostPivot.Finished {
		return nil
	}
	kubelet, err := o.Node.Units.State(ctx, host.UnitKubelet)
	if err != nil {
		return fmt.Errorf("look at %s: %w", host.UnitKubelet, err)
	}
	if strings.HasPrefix(kubelet.File, "enabled") {
		return nil
	}
	return refuse("stateroot %s is not finished, its cluster would never start: wait for %s to end, "+
		"or go back with 'lca-cli ip-config rollback'",
		o.Request.NewStateroot, host.UnitIPConfiguration)
}

// abort takes back an unfinished pre-pivot. One that got past its commit point and yet the
// old stateroot runs was rolled back by other means, or was stopped before its reboot.
func (o *Operation) abort(ctx context.Context) error {
	err := o.Runner.Abort(ctx, o.prePivot().Plan())
	var failed *flow.FailedError
	if errors.As(err, &failed) && failed.Committed {
		return o.prePivot().reviveStopped(ctx)
	}
	return err
}
