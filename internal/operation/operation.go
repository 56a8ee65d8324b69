package operation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// ErrRefused marks what would do harm, or cannot be done, in the node's present state. Nothing was touched.
var ErrRefused = errors.New("refused")

// Refuse says why something is refused; the error matches ErrRefused.
func Refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, args...))
}

// NewID names an operation: when it was requested, and four random hexadecimal digits. IDs sort by time.
func NewID(now time.Time, random uint16) string {
	return fmt.Sprintf("%s-%04x", now.UTC().Format("20060102-150405"), random)
}

// Instruments are what an operation is watched with; each may be nil.
type Instruments struct {
	// Watch sees each journal entry after it was written.
	Watch func(flow.Entry)
	// Evidence returns and forgets the commands run since it was last asked.
	Evidence func() []flow.Evidence
}

// Here is the running system that an operation acts in.
type Here struct {
	// Booted is the deployment that runs, All are those of the node in boot order.
	Booted host.Deployment
	All    []host.Deployment
	// Boot differs between boots.
	Boot string
}

// Locate reads which system runs.
func Locate(ctx context.Context, deployments host.Deployments, power host.Power) (Here, error) {
	boot, err := power.BootID(ctx)
	if err != nil {
		return Here{}, fmt.Errorf("read the boot id: %w", err)
	}
	all, err := deployments.List(ctx)
	if err != nil {
		return Here{}, fmt.Errorf("list deployments: %w", err)
	}
	booted, err := host.Booted(all)
	if err != nil {
		return Here{}, fmt.Errorf("find the booted deployment: %w", err)
	}
	return Here{Booted: booted, All: all, Boot: boot}, nil
}

// LocateAny is Locate for flows that run on plain nodes, too. A node without ostree has a boot and no deployment.
func LocateAny(ctx context.Context, files host.Files, deployments host.Deployments, power host.Power) (Here, error) {
	ostree, err := host.HasDeployments(files)
	if err != nil {
		return Here{}, err
	}
	if ostree {
		return Locate(ctx, deployments, power)
	}
	boot, err := power.BootID(ctx)
	if err != nil {
		return Here{}, fmt.Errorf("read the boot id: %w", err)
	}
	return Here{Boot: boot}, nil
}

// Operation runs the plans of one operation.
type Operation struct {
	ID     string
	Here   Here
	Runner *flow.Runner
	// Wrap lets tests put a crash into a plan; nil elsewhere.
	Wrap func(flow.Plan) flow.Plan

	files host.Files
}

// Ports are what every operation needs.
type Ports struct {
	Files host.Files
	Clock flow.Clock
	Log   *slog.Logger
}

// Open prepares the operation of that id to run in the system that runs.
func Open(id string, here Here, p Ports, with Instruments) *Operation {
	return &Operation{ID: id, Here: here, files: p.Files, Runner: &flow.Runner{
		Journal: flow.OpenJournal(journalFile{p.Files, JournalPath(id)}),
		Clock:   p.Clock, Operation: id, Stateroot: here.Booted.Stateroot, Boot: here.Boot,
		Log: p.Log, Watch: with.Watch, Evidence: with.Evidence, Clean: RedactText,
	}}
}

// Run carries out the plan from wherever the journal says it stands; see flow.Runner.
func (o *Operation) Run(ctx context.Context, p flow.Plan) error {
	return o.Runner.Run(ctx, o.wrapPlan(p))
}

// Abort rolls back a plan that was begun and is not past its commit point.
func (o *Operation) Abort(ctx context.Context, p flow.Plan) error {
	return o.Runner.Abort(ctx, o.wrapPlan(p))
}

// Entries reads the operation's journal, with the part that a rollback brought back.
func (o *Operation) Entries() ([]flow.Entry, error) { return ReadEntries(o.files, o.ID) }

func (o *Operation) wrapPlan(p flow.Plan) flow.Plan {
	if o.Wrap == nil {
		return p
	}
	return o.Wrap(p)
}

// Phase names a flow with its step, for programs that wait for the node.
func Phase(name string, f flow.FlowProgress) (phase string, since time.Time) {
	if f.Total > 0 {
		return fmt.Sprintf("%s, step %d of %d", name, f.Index, f.Total), f.Started
	}
	return name, f.Started
}

// Narrate is one journal entry as a line for a person; empty for entries that say nothing new.
func Narrate(e flow.Entry) string {
	took := (time.Duration(e.TookMS) * time.Millisecond).Round(10 * time.Millisecond)
	switch e.Kind {
	case flow.KindIntent:
		return fmt.Sprintf("[%d/%d] %s ...", e.Index, e.Total, e.Title)
	case flow.KindDone:
		return fmt.Sprintf("[%d/%d] %s: done in %s", e.Index, e.Total, e.Title, took)
	case flow.KindSkipped:
		return fmt.Sprintf("[%d/%d] %s: already done", e.Index, e.Total, e.Title)
	case flow.KindFailed:
		return fmt.Sprintf("[%d/%d] %s: FAILED after %s: %s", e.Index, e.Total, e.Title, took, e.Error)
	case flow.KindUndone:
		return fmt.Sprintf("undone: %s (%s)", e.Title, took)
	case flow.KindUndoFailed:
		return fmt.Sprintf("could NOT undo: %s: %s", e.Title, e.Error)
	case flow.KindNote:
		return e.Message
	default: // the others are said by the steps
	}
	return ""
}
