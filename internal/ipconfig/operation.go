package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// Damage is why the request had to be made up for; see FindRequest.
	Damage error
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
	request, damage, err := FindRequest(n.Files, all)
	if err != nil {
		return nil, err
	}
	auto, err := ReadAutoRollback(n.Files)
	if err != nil {
		n.Log.Error("automatic rollback is on, because what was said about it cannot be read", "error", err)
	}
	runner := &flow.Runner{
		Journal: flow.OpenJournal(journalFile{n.Files, JournalPath(request.OperationID)}),
		Clock:   n.Clock, Operation: request.OperationID, Stateroot: booted.Stateroot, Boot: boot,
		Log: n.Log, Watch: with.Watch, Evidence: with.Evidence, Clean: redactText,
	}
	return &Operation{Node: n, Request: request, Auto: auto, Runner: runner, Damage: damage}, nil
}

// HolderName is how the operation on this node calls itself when it takes the node's lock.
func HolderName(files host.Files) string {
	r, err := ReadRequest(files)
	if err != nil || r.OperationID == "" {
		return holderFlow
	}
	return holderFlow + " " + r.OperationID
}

// InNewStateroot says whether the operation has pivoted.
func (o *Operation) InNewStateroot() bool { return o.Runner.Stateroot == o.Request.NewStateroot }

func (o *Operation) run(ctx context.Context, p flow.Plan) error {
	if o.Wrap != nil {
		p = o.Wrap(p)
	}
	return o.Runner.Run(ctx, p)
}

// ErrRefused marks what would do harm, or cannot be done, where the node stands now. Nothing was touched.
var ErrRefused = errors.New("refused")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, args...))
}

// PrePivot prepares the new stateroot and reboots into it. It does not return
// nil in real life: it ends with the reboot, or with the reason why not.
func (o *Operation) PrePivot(ctx context.Context) error {
	if o.InNewStateroot() {
		return refuse("pre-pivot of %s: stateroot %s already runs", o.Request.OperationID, o.Request.NewStateroot)
	}
	if err := o.cameBack(); err != nil {
		return err
	}
	err := o.run(ctx, o.prePivot().Plan())
	if failed := (*flow.FailedError)(nil); errors.As(err, &failed) && ctx.Err() == nil {
		o.keepEvidence(ctx, err)
	}
	return err
}

// cameBack refuses to leave for a stateroot that the node has come back from: what went wrong there is
// still there.
func (o *Operation) cameBack() error {
	entries, err := ReadEntries(o.Node.Files, o.Request.OperationID)
	if err != nil {
		return err
	}
	p := Project(o.Request.OperationID, entries)
	left := slices.ContainsFunc(entries, func(e flow.Entry) bool {
		return e.Flow == FlowPrePivot && e.Kind == flow.KindCommitted && e.Boot != o.Runner.Boot
	})
	if p.Rollback.Begun || left {
		return refuse("operation %s is over: the node came back from stateroot %s; set spec.stage to Idle, then ask for the change anew",
			o.Request.OperationID, o.Request.NewStateroot)
	}
	return nil
}

func (o *Operation) prePivot() *PrePivot {
	return &PrePivot{Node: o.Node, Request: o.Request, Auto: o.Auto, Runner: o.Runner}
}

// PostPivot finishes the change. When it fails, or was begun too often, it goes back by
// itself, unless the user has switched that off or the old stateroot is gone. A rollback that was begun is gone on with first.
func (o *Operation) PostPivot(ctx context.Context) error {
	if !o.InNewStateroot() {
		return refuse("post-pivot of %s: stateroot %s runs, not %s",
			o.Request.OperationID, o.Runner.Stateroot, o.Request.NewStateroot)
	}
	if err := o.resumeRollBack(ctx); errors.Is(err, flow.ErrLeaving) || ctx.Err() != nil {
		return err
	}
	noWayBack := o.CanRollBack(ctx, "")
	stay := !o.Auto.RunEnabled() || errors.Is(noWayBack, ErrRefused)
	err := o.finish(ctx, stay)
	switch {
	case err == nil:
		return o.retire(ctx)
	case ctx.Err() != nil:
		return err
	}
	if stay {
		o.Node.Log.Warn("the change is not taken back", "op", o.Request.OperationID,
			"switchedOffByAnnotation", !o.Auto.RunEnabled(), "noWayBack", noWayBack)
		o.keepEvidence(ctx, err)
		return err
	}
	cause := CauseAutomatic + "ip-config post-pivot failed: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	if rerr := o.rollBack(ctx, o.Request.OldStateroot, cause, true); rerr != nil {
		return errors.Join(err, rerr)
	}
	return err
}

// finish runs post-pivot's plan, unless nobody knows any more what it was to bring about. Where the node is to stay, or has
// nowhere to go back to, it is tried on without end.
func (o *Operation) finish(ctx context.Context, stay bool) error {
	if o.Damage != nil {
		return &flow.FailedError{Flow: FlowPostPivot, Committed: true, Cause: fmt.Errorf("%w: %w", flow.ErrGivenUp, o.Damage)}
	}
	return o.run(ctx, (&PostPivot{Node: o.Node, Request: o.Request, Runner: o.Runner, Endless: stay}).Plan())
}

// retire ends the service that brought post-pivot here. It is no step: a node that loses power with the service disabled and
// the flow not yet finished would have nobody to finish it. A service that finds all done retires again.
func (o *Operation) retire(ctx context.Context) error {
	if err := o.Node.Units.Disable(ctx, host.UnitIPConfiguration); err != nil {
		return fmt.Errorf("disable %s: %w", host.UnitIPConfiguration, err)
	}
	return nil
}
