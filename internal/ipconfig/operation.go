package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Operation is one run of lca-cli on the operation that the workspace holds.
type Operation struct {
	Node    Node
	Request Request
	Auto    AutoRollback
	Runner  *flow.Runner
	// Entry sees every journal entry as it is written; for narration.
	// Wrap lets tests put a crash into a plan; nil elsewhere.
	Wrap func(flow.Plan) flow.Plan
}

// Instruments are what an operation is watched with.
type Instruments struct {
	Watch    func(flow.Entry)
	Evidence func() []flow.Evidence
}

// OpenOperation loads the prepared operation of the booted stateroot.
func OpenOperation(ctx context.Context, n Node, with Instruments) (*Operation, error) {
	request, err := ReadRequest(n.Files)
	if err != nil {
		return nil, err
	}
	auto, err := ReadAutoRollback(n.Files)
	if err != nil {
		return nil, err
	}
	boot, err := n.Power.BootID(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the boot id: %w", err)
	}
	all, err := n.Deployments.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	booted, err := host.Booted(all)
	if err != nil {
		return nil, err
	}
	runner := &flow.Runner{
		Journal: flow.OpenJournal(journalFile{n.Files, JournalPath(request.OperationID)}),
		Clock:   n.Clock, Operation: request.OperationID, Stateroot: booted.Stateroot, Boot: boot,
		Log: n.Log, Watch: with.Watch, Evidence: with.Evidence,
	}
	return &Operation{Node: n, Request: request, Auto: auto, Runner: runner}, nil
}

// InNewStateroot says whether the operation has pivoted.
func (o *Operation) InNewStateroot() bool { return o.Runner.Stateroot == o.Request.NewStateroot }

func (o *Operation) run(ctx context.Context, p flow.Plan) error {
	if o.Wrap != nil {
		p = o.Wrap(p)
	}
	return o.Runner.Run(ctx, p)
}

// PrePivot prepares the new stateroot and reboots into it. It does not return
// nil in real life: it ends with the reboot, or with the reason why not.
func (o *Operation) PrePivot(ctx context.Context) error {
	if o.InNewStateroot() {
		return fmt.Errorf("pre-pivot of %s: stateroot %s already runs", o.Request.OperationID, o.Request.NewStateroot)
	}
	return o.run(ctx, o.prePivot().Plan())
}

func (o *Operation) prePivot() *PrePivot {
	return &PrePivot{Node: o.Node, Request: o.Request, Auto: o.Auto, Runner: o.Runner}
}

// PostPivot finishes the change. When it fails, or was begun too often, it goes back by
// itself, unless the user has switched that off.
func (o *Operation) PostPivot(ctx context.Context) error {
	if !o.InNewStateroot() {
		return fmt.Errorf("post-pivot of %s: stateroot %s runs, not %s",
			o.Request.OperationID, o.Runner.Stateroot, o.Request.NewStateroot)
	}
	err := o.run(ctx, (&PostPivot{Node: o.Node, Request: o.Request, Endless: !o.Auto.RunEnabled()}).Plan())
	if err == nil || ctx.Err() != nil {
		return err
	}
	if !o.Auto.RunEnabled() {
		o.Node.Log.Warn("automatic rollback is switched off by annotation", "op", o.Request.OperationID)
		return err
	}
	cause := CauseAutomatic + "ip-config post-pivot failed: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	if rerr := o.rollBack(ctx, o.Request.OldStateroot, cause, true); rerr != nil {
		return errors.Join(err, rerr)
	}
	return err
}

// RollBack goes back to the named stateroot, or to the request's old one if empty.
func (o *Operation) RollBack(ctx context.Context, to, cause string) error {
	if to == "" {
		to = o.Request.OldStateroot
	}
	return o.rollBack(ctx, to, cause, false)
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
	c := &Cleanup{Node: o.Node, Request: o.Request}
	if !o.InNewStateroot() {
		c.Abort = o.abort
	}
	return o.run(ctx, c.Plan())
}

// abort takes back an unfinished pre-pivot. One that got past its commit point and yet the
// old stateroot runs was rolled back by other means: nothing is left to abort.
func (o *Operation) abort(ctx context.Context) error {
	err := o.Runner.Abort(ctx, o.prePivot().Plan())
	var failed *flow.FailedError
	if errors.As(err, &failed) && failed.Committed {
		return nil
	}
	return err
}
