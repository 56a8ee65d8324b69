package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// WayOut is what a person can do about a pre-pivot that has chosen the new stateroot and could not reboot.
const WayOut = "The new stateroot boots next, and the cluster is stopped: reboot the node to continue the change, or keep the old " +
	"system with 'lca-cli ip-config cleanup'"

// Operation is one run of lca-cli on the IP change that the workspace holds.
type Operation struct {
	*operation.Operation
	Ports   Ports
	Request ipconfig.Request
	Auto    ipconfig.AutoRollback
	// Damage is why the request had to be reconstructed; see FindRequest.
	Damage error
}

// OpenOperation loads the prepared operation of the booted stateroot.
func OpenOperation(ctx context.Context, n Ports, with operation.Instruments) (*Operation, error) {
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return nil, fmt.Errorf("open the operation: %w", err)
	}
	request, damage, err := ipconfig.FindRequest(n.Files, here.All)
	if err != nil {
		return nil, fmt.Errorf("open the operation: %w", err)
	}
	auto, err := ipconfig.ReadAutoRollback(n.Files)
	if err != nil {
		n.Log.Error("automatic rollback stays on, because its settings cannot be read", "error", err)
	}
	ports := operation.Ports{Files: n.Files, Clock: n.Clock, Log: n.Log}
	return &Operation{
		Operation: operation.Open(request.OperationID, here, ports, with),
		Ports:     n, Request: request, Auto: auto, Damage: damage,
	}, nil
}

// EnsureRecord completes the record of the running stateroot; call it with the node's lock. A full disk must not keep the node
// from going back, so a failure is a warning.
func (o *Operation) EnsureRecord() {
	if err := ipconfig.EnsureRecord(o.Ports.Files, o.Here.All, o.Request, o.Ports.Clock.Now()); err != nil {
		o.Ports.Log.Warn("the record of the stateroot that runs is not complete", "op", o.Request.OperationID, "error", err)
	}
}

// HolderName is how the operation on this node calls itself when it takes the node's lock.
func HolderName(files host.Files) string {
	r, err := ipconfig.ReadRequest(files)
	if err != nil || r.OperationID == "" {
		return LockName
	}
	return LockName + " " + r.OperationID
}

// InNewStateroot reports whether the operation has pivoted.
func (o *Operation) InNewStateroot() bool { return o.Here.Booted.Stateroot == o.Request.NewStateroot }

// PrePivot prepares the new stateroot and reboots into it. It does not return nil on a real node: it ends with the
// reboot, or with the reason why not.
func (o *Operation) PrePivot(ctx context.Context) error {
	if o.InNewStateroot() {
		return operation.Refuse("pre-pivot of %s: stateroot %s already runs", o.ID, o.Request.NewStateroot)
	}
	if err := o.refuseReturned(); err != nil {
		return err
	}
	err := o.Run(ctx, o.prePivot().Plan())
	if flow.EndingOf(err) == flow.EndingGivenUp {
		err = fmt.Errorf("%w. %s", err, WayOut)
	}
	if failed := (*flow.FailedError)(nil); errors.As(err, &failed) && ctx.Err() == nil {
		o.keepEvidence(ctx, err)
	}
	return err
}

// refuseReturned refuses to boot a stateroot again that the node has come back from: what failed there would fail again.
func (o *Operation) refuseReturned() error {
	entries, err := o.Entries()
	if err != nil {
		return err
	}
	left := slices.ContainsFunc(entries, func(e flow.Entry) bool {
		return e.Flow == ipconfig.FlowPrePivot && e.Kind == flow.KindCommitted && e.Boot != o.Here.Boot
	})
	if left || flow.Fold(o.ID, entries).Flow(ipconfig.FlowRollback).Begun {
		return operation.Refuse("operation %s is over: the node came back from stateroot %s; "+
			"set spec.stage to Idle, then request the change again",
			o.ID, o.Request.NewStateroot)
	}
	return nil
}

// PostPivot finishes the change. When it fails, or was begun too often, it rolls back by itself, unless the user has
// switched that off, the old stateroot is gone, or the change was proved before. It continues a rollback that was begun
// before anything else.
func (o *Operation) PostPivot(ctx context.Context) error {
	if !o.InNewStateroot() {
		return operation.Refuse("post-pivot of %s: stateroot %s runs, not %s",
			o.ID, o.Here.Booted.Stateroot, o.Request.NewStateroot)
	}
	if err := o.resumeRollBack(ctx); errors.Is(err, flow.ErrLeaving) || ctx.Err() != nil {
		return err
	}
	noWayBack := o.CanRollBack(ctx, "")
	stay := !o.Auto.RunEnabled() || errors.Is(noWayBack, operation.ErrRefused) || o.Disarmed()
	err := o.runPostPivot(ctx, stay)
	switch {
	case err == nil:
		return o.disablePostPivot(ctx)
	case ctx.Err() != nil:
		return err
	}
	if stay || o.Disarmed() {
		o.Ports.Log.Warn("the change is not rolled back", "op", o.ID,
			"switchedOffByAnnotation", !o.Auto.RunEnabled(), "noWayBack", noWayBack, "proved", o.Disarmed())
		o.keepEvidence(ctx, err)
		return err
	}
	cause := ipconfig.CauseAutomatic + "ip-config post-pivot failed: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	if rerr := o.rollBack(ctx, o.Request.OldStateroot, cause, true); rerr != nil {
		// Whether another run may help is a matter of the rollback alone, also where post-pivot was given up.
		return fmt.Errorf("%w; the reason for the rollback: %s", rerr, err.Error())
	}
	return err
}

// Disarmed says that the change was proved and that nothing rolls it back by itself any more: neither the watchdog, nor a
// post-pivot that a power cut made begin again, nor its limit of attempts.
func (o *Operation) Disarmed() bool { return isDisarmed(o.Ports.Files, o.Request, o.Auto) }

func isDisarmed(files host.Files, r ipconfig.Request, auto ipconfig.AutoRollback) bool {
	return !auto.HealthEnabled() && ipconfig.Proved(files, r.OperationID)
}

// runPostPivot runs post-pivot's plan, unless the request is damaged. It retries without end where the node is to stay, or
// has no stateroot to go back to.
func (o *Operation) runPostPivot(ctx context.Context, stay bool) error {
	if o.Damage != nil {
		return &flow.FailedError{Flow: ipconfig.FlowPostPivot, Committed: true, Cause: fmt.Errorf("%w: %w", flow.ErrGivenUp, o.Damage)}
	}
	return o.Run(ctx, o.postPivot(stay).Plan())
}

// disablePostPivot disables the service that runs post-pivot. It is no step: after a power cut between the two, a disabled service
// could not finish the flow. A service that finds everything done retires again.
func (o *Operation) disablePostPivot(ctx context.Context) error {
	if err := o.Ports.Units.Disable(ctx, ipconfig.UnitIPConfiguration); err != nil {
		return fmt.Errorf("disable %s: %w", ipconfig.UnitIPConfiguration, err)
	}
	return nil
}

// keepEvidence writes the bundle of a failure after which the running stateroot stays.
func (o *Operation) keepEvidence(ctx context.Context, cause error) {
	b := o.Ports.evidenceBundle(o.ID, cause.Error())
	if err := b.CollectOnce(ctx); err != nil {
		o.Ports.Log.Warn("the evidence could not be kept", "op", o.ID, "error", err)
	}
}

// The flows of the operation, each with the ports that it uses.

func (n Ports) newWorkload() stateroot.Workload {
	return stateroot.Workload{Units: n.Units, Masks: n.Masks, Containers: n.Containers}
}

func (o *Operation) prePivot() *PrePivot {
	n := o.Ports
	return &PrePivot{
		Files: n.Files, Trees: n.Trees, Deployments: n.Deployments, OneTimeBoot: n.OneTimeBoot, Workload: n.newWorkload(),
		Foreign: n.Foreign, Network: n.Network, Planner: n.Planner, Switch: n.Switch, Resolver: n.Resolver, Power: n.Power,
		Recert:  n.recertEngines(),
		Cluster: n.Cluster, Forecaster: n.Forecaster, Clock: n.Clock, Log: n.Log,
		Request: o.Request, Auto: o.Auto, Note: o.Runner.Note,
	}
}

func (o *Operation) postPivot(endless bool) *PostPivot {
	n := o.Ports
	return &PostPivot{
		Files: n.Files, Deployments: n.Deployments, OneTimeBoot: n.OneTimeBoot, Network: n.Network, Prober: n.Prober, Units: n.Units,
		Power: n.Power, Recert: n.recertEngines(), Cluster: n.Cluster, Clock: n.Clock, Log: n.Log,
		Request: o.Request, Auto: o.Auto, Note: o.Runner.Note, Endless: endless,
	}
}

func (n Ports) newCleanup(r ipconfig.Request) *Cleanup {
	return &Cleanup{Files: n.Files, Deployments: n.Deployments, OneTimeBoot: n.OneTimeBoot, Units: n.Units, Clock: n.Clock, Request: r}
}
