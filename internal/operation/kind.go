package operation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Kind is one kind of operation, such as a copy of a stateroot or a restore. R is its request, which is in a file from the moment
// that it was accepted until the operation has ended. What is the same for every kind is done here: reading and storing the
// request, running and aborting the plan, the end, the reservation of the node, and retention. A kind adds its plan and its rules.
type Kind[R any] struct {
	// Name is that of its flow: journals, the lock and status call it so.
	Name string
	// Flows are those of its journals, for retention; Name alone where empty.
	Flows []string
	// RequestFile holds the request. A node has one of a kind at a time.
	RequestFile string
	// Credentials are removed before the request.
	Credentials []string
	// Unit runs it.
	Unit string
	// AcrossBoots: it continues after a reboot, and holds the node until it has ended.
	AcrossBoots bool
	// Yields: any other operation that asks for the node ends it.
	Yields bool
	// PlainNodes: it runs on nodes without ostree, too.
	PlainNodes bool
	// WayOut is what a person can do when it was given up past its commit point: a sentence. Holds keeps the request and the
	// reservation of the node until that was done.
	WayOut string
	Holds  bool
	// EndedBy is what a person runs to end one that is under way, in quotes.
	EndedBy string
	// Salvage makes the request again, as far as an abort needs it, of an operation that was begun in the stateroot; nil where a
	// reboot ends one whose request cannot be read.
	Salvage func(id, stateroot string) R

	ID func(R) string
	// Missing is the error where there is no request.
	Missing error
	// Validate refuses a request that nothing can carry out; may be nil.
	Validate func(R) error
	// Admit refuses a request that is not for the system that runs; may be nil.
	Admit func(R, Here) error
	Plan  func(R, Here) flow.Plan
	// Conclude writes the outcome of an operation that has ended with that error, and may judge it otherwise. The request goes
	// after it, unless it failed; may be nil.
	Conclude func(ctx context.Context, r R, end error) (result, failed error)
	// Spared are operations whose records stay; may be nil.
	Spared func(host.Files) []string
	// Wrap lets tests put a crash into the plan; nil elsewhere.
	Wrap func(flow.Plan) flow.Plan
}

// Boots tells the boots of a node apart.
type Boots interface {
	BootID(ctx context.Context) (string, error)
}

// Intake is what it takes to store a request.
type Intake struct {
	Files host.Files
	Boots Boots
	Log   *slog.Logger
}

// Machine is the node that an operation runs on.
type Machine struct {
	host.Node
	Clock flow.Clock
	Log   *slog.Logger
}

// Intake stores requests on the machine.
func (m Machine) Intake() Intake { return Intake{m.Files, m.Power, m.Log} }

// Facts are what is known of a kind without its requests.
type Facts struct {
	Name, RequestFile, Unit, WayOut string
	Flows                           []string
	Plan                            flow.Plan
	Reserve                         func(host.Node) host.Reservation
}

// Facts describes the kind.
func (k Kind[R]) Facts() Facts {
	var none R
	return Facts{k.Name, k.RequestFile, k.Unit, k.WayOut, k.flowNames(), k.Plan(none, Here{}), k.Reservation}
}

// Failure says why an operation that does not run any more is not finished, and the way out of it; nil where it is finished.
func (f Facts) Failure(p flow.Progress) error {
	at := p.Flow(f.Name)
	switch {
	case at.Finished:
		return nil
	case at.Committed && f.WayOut != "":
		return fmt.Errorf("%s. %s (see journalctl -u %s)", at.Failure, f.WayOut, f.Unit)
	}
	return fmt.Errorf("%s (see journalctl -u %s)", at.Failure, f.Unit)
}

func (k Kind[R]) flowNames() []string {
	if len(k.Flows) > 0 {
		return k.Flows
	}
	return []string{k.Name}
}

// Read loads the request; Missing where there is none.
func (k Kind[R]) Read(files host.Files) (r R, err error) {
	err = ReadJSON(files, k.RequestFile, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, k.Missing
	}
	if err == nil && k.Validate != nil {
		err = k.Validate(r)
	}
	return r, err
}

// Find is Read for those who expect none.
func (k Kind[R]) Find(files host.Files) (r R, found bool, err error) {
	r, err = k.Read(files)
	if errors.Is(err, k.Missing) {
		return r, false, nil
	}
	return r, err == nil, err
}

// Store writes the request, unless another operation has one. It replaces a damaged one; see Underway.
func (k Kind[R]) Store(ctx context.Context, in Intake, r R) error {
	if k.Validate != nil {
		if err := k.Validate(r); err != nil {
			return err
		}
	}
	under, found, damage, err := k.findUnderway(ctx, in)
	if err != nil {
		return err
	}
	if found && k.ID(under) != k.ID(r) {
		return Refuse("%s %s is under way: it has to end first", k.Name, k.ID(under))
	}
	if damage != nil {
		in.Log.Warn("an earlier request cannot be read and nothing of it is under way; it is replaced", "file", k.RequestFile,
			"error", damage)
	}
	return WriteJSON(in.Files, k.RequestFile, r)
}

// Underway is Find for those who want to store a request. One that cannot be read is of no use to any program, so it counts only
// while a journal says that an operation of this kind is under way, in this boot unless it continues after a reboot: its steps may
// have stopped the cluster.
func (k Kind[R]) Underway(ctx context.Context, in Intake) (r R, found bool, err error) {
	r, found, _, err = k.findUnderway(ctx, in)
	return r, found, err
}

// findUnderway returns, as damage, why a request that does not count cannot be read.
func (k Kind[R]) findUnderway(ctx context.Context, in Intake) (r R, found bool, damage, err error) {
	r, found, damage = k.Find(in.Files)
	if damage == nil {
		return r, found, nil, nil
	}
	j, runs, err := k.findByJournal(ctx, in.Files, in.Boots)
	if err != nil {
		return r, false, nil, errors.Join(damage, err)
	}
	if runs {
		return r, false, nil, Refuse("%s is under way (%s), and its request cannot be read; %s: %w",
			j.holder.Operation, j.holder.Phase, k.endUnread(), damage)
	}
	var none R
	return none, false, damage, nil
}

// endUnread is what ends an operation whose request cannot be read.
func (k Kind[R]) endUnread() string {
	if k.Salvage != nil {
		return k.EndedBy + " ends it"
	}
	return "reboot the node to end it"
}

// FindToEnd is Find for those who end the operation. A request that cannot be read is made again from the journal that shows the
// operation under way, as far as an abort needs it; damage says what is wrong with the file.
func (k Kind[R]) FindToEnd(ctx context.Context, in Intake) (r R, found bool, damage, err error) {
	r, found, damage = k.Find(in.Files)
	if damage == nil {
		return r, found, nil, nil
	}
	var none R
	if k.Salvage == nil {
		return none, false, damage, nil
	}
	j, found, err := k.findByJournal(ctx, in.Files, in.Boots)
	if err != nil || !found {
		return none, false, damage, err
	}
	return k.Salvage(j.id, j.stateroot), true, damage, nil
}

// journaled is an operation that its journal shows under way.
type journaled struct {
	id, stateroot string
	holder        host.Holder
}

// findByJournal looks for an operation of this kind that is under way, where no request names it.
func (k Kind[R]) findByJournal(ctx context.Context, files host.Files, boots Boots) (j journaled, found bool, err error) {
	boot, err := boots.BootID(ctx)
	if err != nil {
		return j, false, fmt.Errorf("read the boot id: %w", err)
	}
	ids, err := List(files)
	if err != nil {
		return j, false, err
	}
	for _, id := range slices.Backward(ids) {
		entries, err := ReadEntries(files, id)
		if err != nil {
			continue // no program can continue what its journal does not say
		}
		if f, runs := k.foldUnderway(id, entries, boot); runs {
			phase, since := Phase(k.Name, f)
			j = journaled{id: id, holder: host.Holder{Operation: k.Name + " " + id, Phase: phase, Boot: boot, Since: since}}
			j.stateroot = entries[slices.IndexFunc(entries, func(e flow.Entry) bool { return e.Flow == k.Name })].Stateroot
			return j, true, nil
		}
	}
	return j, false, nil
}

// foldUnderway says whether a journal shows the kind under way in this boot. One that continues after a reboot is so until it has ended
// or another flow has continued the operation, in another stateroot for instance.
func (k Kind[R]) foldUnderway(id string, entries []flow.Entry, boot string) (f flow.FlowProgress, underway bool) {
	p := flow.Fold(id, entries)
	f = p.Flow(k.Name)
	return f, f.Running() && (f.Boot == boot || k.AcrossBoots && p.Latest == k.Name)
}

// Run carries out the request, from wherever an earlier run ended.
func (k Kind[R]) Run(ctx context.Context, m Machine, with Instruments) error {
	r, err := k.Read(m.Files)
	if err != nil {
		return err
	}
	here, err := k.locateHere(ctx, m)
	if err != nil {
		return err
	}
	return k.Continue(ctx, m, with, r, here)
}

func (k Kind[R]) locateHere(ctx context.Context, m Machine) (Here, error) {
	if k.PlainNodes {
		return LocateAny(ctx, m.Files, m.Deployments, m.Power)
	}
	return Locate(ctx, m.Deployments, m.Power)
}

// Continue carries out a request that was read, in the system that runs.
func (k Kind[R]) Continue(ctx context.Context, m Machine, with Instruments, r R, here Here) error {
	if k.Admit != nil {
		if err := k.Admit(r, here); err != nil {
			return err
		}
	}
	return k.Close(ctx, m.Files, r, k.openOperation(m, with, r, here).Run(ctx, k.Plan(r, here)))
}

// Abort takes back what a request has done, up to the plan's commit point.
func (k Kind[R]) Abort(ctx context.Context, m Machine, with Instruments, r R, here Here) error {
	return k.Close(ctx, m.Files, r, k.openOperation(m, with, r, here).Abort(ctx, k.Plan(r, here)))
}

func (k Kind[R]) openOperation(m Machine, with Instruments, r R, here Here) *Operation {
	o := Open(k.ID(r), here, Ports{Files: m.Files, Clock: m.Clock, Log: m.Log}, with)
	o.Wrap = k.Wrap
	return o
}

// Close removes the request of an operation that has ended, in whichever way, after its outcome was written. An interruption
// leaves the request, and the next run does the same again.
func (k Kind[R]) Close(ctx context.Context, files host.Files, r R, err error) error {
	ending := flow.EndingOf(err)
	if !ending.Ended() {
		return err
	}
	if ending == flow.EndingGivenUp {
		err = fmt.Errorf("%w. %s", err, k.WayOut)
		if k.Holds {
			return err
		}
	}
	if k.Conclude != nil {
		result, failed := k.Conclude(ctx, r, err)
		if failed != nil {
			return errors.Join(err, failed)
		}
		err = result
	}
	return errors.Join(err, k.Forget(files, r))
}

// Forget removes the request and its credentials, and the records of old operations of this kind.
func (k Kind[R]) Forget(files host.Files, r R) error {
	for _, file := range slices.Concat(k.Credentials, []string{k.RequestFile}) {
		if err := files.Remove(file); err != nil {
			return fmt.Errorf("remove %s of %s %s: %w", file, k.Name, k.ID(r), err)
		}
	}
	spared := []string{k.ID(r)}
	if k.Spared != nil {
		spared = append(spared, k.Spared(files)...)
	}
	return Prune(files, k.flowNames(), spared...)
}

// Holder is what the lock calls an operation of this kind.
func (k Kind[R]) Holder(files host.Files) string {
	if r, found, err := k.Find(files); err == nil && found {
		return k.Name + " " + k.ID(r)
	}
	return k.Name
}

// Reservation reports an operation that is unfinished: no other may change the node meanwhile. A damaged request holds the node as long
// as it counts; see Underway.
func (k Kind[R]) Reservation(n host.Node) host.Reservation {
	r := host.Reservation{Flow: k.Name, EndedBy: k.EndedBy, Unfinished: k.findHolder(n)}
	if k.Yields {
		r.Yield = func(ctx context.Context) error { return n.Units.Stop(ctx, k.Unit) }
	}
	return r
}

func (k Kind[R]) findHolder(n host.Node) func(context.Context) (host.Holder, bool, error) {
	return func(ctx context.Context) (host.Holder, bool, error) {
		r, found, err := k.Find(n.Files)
		if err != nil {
			j, runs, err := k.findByJournal(ctx, n.Files, n.Power)
			return j.holder, runs, err
		}
		if !found {
			return host.Holder{}, false, nil
		}
		return Unfinished(ctx, n, k.Name, k.ID(r), k.AcrossBoots)
	}
}

// Unfinished describes a flow that was begun and has not ended, for programs that wait for the node. A flow that does not
// continue after a reboot counts in the boot in which it ran.
func Unfinished(ctx context.Context, n host.Node, name, id string, acrossBoots bool) (h host.Holder, found bool, err error) {
	entries, err := ReadEntries(n.Files, id)
	if err != nil {
		return h, false, err
	}
	boot, err := n.Power.BootID(ctx)
	if err != nil {
		return h, false, fmt.Errorf("read the boot id: %w", err)
	}
	f := flow.Fold(id, entries).Flow(name)
	phase, since := Phase(name, f)
	h = host.Holder{Operation: name + " " + id, Phase: phase, Boot: boot, Since: since}
	return h, f.Running() && (acrossBoots || f.Boot == boot), nil
}
