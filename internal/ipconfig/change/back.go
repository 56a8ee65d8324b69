package change

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// resumeRollBack continues an interrupted rollback. Where that cannot be done the new system is better than none: the
// caller finishes it.
func (o *Operation) resumeRollBack(ctx context.Context) error {
	p, err := ipconfig.ReadProgress(o.Ports.Files, o.ID)
	if err != nil || !p.Rollback.Running() {
		return nil //nolint:nilerr // a journal that cannot be read is for post-pivot's plan to judge
	}
	err = o.rollBack(ctx, o.Request.OldStateroot, p.Cause, true)
	if err != nil && !errors.Is(err, flow.ErrLeaving) {
		o.Ports.Log.Error("the rollback that was begun cannot be finished", "op", o.ID, "error", err)
	}
	return err
}

// CanRollBack says why a rollback to the named stateroot, or to the request's old one if empty, is of no use; nil when
// it can be tried.
func (o *Operation) CanRollBack(ctx context.Context, to string) error {
	if to != "" && to != o.Request.OldStateroot {
		return operation.Refuse("operation %s was made from stateroot %s; it cannot go back to %s", o.ID, o.Request.OldStateroot, to)
	}
	_, err := stateroot.WayBack(ctx, o.Ports.Files, o.Ports.Deployments, o.Request.OldStateroot)
	return err
}

// RollBack boots the named stateroot, or to the request's old one if empty. A rollback that was begun for
// another cause keeps that cause.
func (o *Operation) RollBack(ctx context.Context, to, cause string) error {
	if err := o.CanRollBack(ctx, to); err != nil {
		return err
	}
	if p, err := ipconfig.ReadProgress(o.Ports.Files, o.ID); err == nil && p.Rollback.Running() && p.Cause != "" {
		cause = p.Cause
	}
	return o.rollBack(ctx, o.Request.OldStateroot, cause, false)
}

// RollBackInTime is the watchdog's rollback. Post-pivot, which was stopped for it, may have proved the change in the last
// moment: then it continues instead.
func (o *Operation) RollBackInTime(ctx context.Context, cause string) error {
	if !o.Disarmed() {
		return o.RollBack(ctx, "", cause)
	}
	o.Ports.Log.Warn("the change was proved at the last moment; it is not rolled back", "op", o.ID)
	if err := o.Ports.Units.Start(ctx, ipconfig.UnitIPConfiguration); err != nil {
		return fmt.Errorf("start %s again: %w", ipconfig.UnitIPConfiguration, err)
	}
	return nil
}

func (o *Operation) rollBack(ctx context.Context, to, cause string, fromPostPivot bool) error {
	if _, err := stateroot.WayBack(ctx, o.Ports.Files, o.Ports.Deployments, to); err != nil {
		return err
	}
	if err := stateroot.DropBallast(o.Ports.Files); err != nil {
		o.Ports.Log.Error("the room kept for a rollback could not be freed", "op", o.ID, "error", err)
	}
	if err := o.Runner.Note(ipconfig.FlowRollback, cause, time.Time{}); err != nil {
		o.Ports.Log.Error("the cause of the rollback could not be journaled", "op", o.ID, "cause", cause, "error", err)
	}
	n := o.Ports
	r := &Rollback{
		Files: n.Files, Trees: n.Trees, Deployments: n.Deployments, Units: n.Units, Power: n.Power, Clock: n.Clock, Log: n.Log,
		Evidence: n.evidenceBundle(o.ID, cause), Request: o.Request, To: to, Cause: cause, FromPostPivot: fromPostPivot,
	}
	return o.Run(ctx, r.Plan())
}

// CleanUp removes what is not booted. It first rolls back a pre-pivot under way.
func (o *Operation) CleanUp(ctx context.Context) error {
	if err := o.refuseUnfinished(ctx); err != nil {
		return err
	}
	c := o.Ports.newCleanup(o.Request)
	if !o.InNewStateroot() {
		c.Abort = o.abortPrePivot
	}
	return o.Run(ctx, c.Plan())
}

// refuseUnfinished refuses to remove the way back, and the service that is to start the cluster, while the cluster would
// not start without it.
func (o *Operation) refuseUnfinished(ctx context.Context) error {
	if !o.InNewStateroot() {
		return nil
	}
	if p, err := ipconfig.ReadProgress(o.Ports.Files, o.ID); err == nil && p.PostPivot.Finished {
		return nil
	}
	kubelet, err := o.Ports.Units.State(ctx, host.UnitKubelet)
	if err != nil {
		return fmt.Errorf("read the state of %s: %w", host.UnitKubelet, err)
	}
	if strings.HasPrefix(kubelet.File, "enabled") {
		return nil
	}
	return operation.Refuse("stateroot %s is not finished, its cluster would never start: wait for %s to end, "+
		"or go back with 'lca-cli ip-config rollback'", o.Request.NewStateroot, ipconfig.UnitIPConfiguration)
}

// abortPrePivot rolls back an unfinished pre-pivot. One that is past its commit point while the old stateroot runs was rolled
// back by other means, or was stopped before its reboot.
func (o *Operation) abortPrePivot(ctx context.Context) error {
	err := o.Abort(ctx, o.prePivot().Plan())
	var failed *flow.FailedError
	if errors.As(err, &failed) && failed.Committed {
		return o.Ports.newWorkload().ReviveStopped(ctx)
	}
	return err
}
