package nm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nodewide"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/plan"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// How long going back may take: it happens when the caller's time may be over.
const goBackTime = time.Minute

// transaction is one Apply under way:
//
//	journal (old key files)  what recovery needs, on disk before anything changes
//	checkpoint, short lease  NetworkManager goes back by itself when we die
//	profiles in memory       the disk still holds the old network: a power cut heals
//	names, Open vSwitch      what no profile holds; the journal has the way back
//	verify, prove            the new network runs and carries traffic
//	save each profile        to disk
//	journal (committed)      the commit point
//	checkpoint ends
type transaction struct {
	n          *Network
	c          *client
	log        *slog.Logger
	snap       *profile.Snapshot
	asked      netstate.Document
	want       netstate.Document // resolved
	now        netstate.Document
	changes    []*plan.Change
	bare       []string           // links without a profile that go
	global     *profile.GlobalDNS // nil where it is not touched
	node       *nodewide.Change   // nil where it is not touched
	record     *record
	events     *events
	activating map[target]dbus.ObjectPath
	// activations counts them.
	activations map[target]int
	ephemeral   bool
	leased      time.Time // when the checkpoint was asked for
}

// target is the device that a profile is activated on.
type target struct {
	layer profile.Layer
	iface string
}

// Apply implements host.Network. Errors of the document come before anything is touched. Where
// everything is in place already, only prove runs. A family of an interface that is
// not mentioned stays as it is, and so do addresses other programs added.
func (n *Network) Apply(
	ctx context.Context, want netstate.Document, prove func(context.Context) error, options ...host.NetworkOption,
) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	t, err := n.openTransaction(ctx, want, options)
	if err != nil {
		return err
	}
	defer t.c.close()
	if t.record == nil {
		t.log.Info("the network is as wanted, nothing to change")
		return runProof(ctx, prove)
	}
	confirmed := func(ctx context.Context) error {
		if err := runProof(ctx, prove); err != nil {
			return err
		}
		return t.commitChange(ctx)
	}
	if err := t.run(ctx, confirmed); err != nil {
		return fmt.Errorf("change the network: %w", err)
	}
	// Committed: from here on there is only forward.
	if err := n.finishCommitted(context.WithoutCancel(ctx), t.c, t.record); err != nil {
		return fmt.Errorf("change the network: %w", err)
	}
	return nil
}

// openTransaction validates and plans the document; it touches nothing. The transaction has no record where everything is in place.
func (n *Network) openTransaction(ctx context.Context, want netstate.Document, options []host.NetworkOption) (*transaction, error) {
	if err := netstate.Validate(want); err != nil {
		return nil, fmt.Errorf("validate the document: %w", err)
	}
	if err := n.recoverChange(ctx); errors.Is(err, errNotInForce) {
		n.o.Log.Warn("an earlier change of the network is not settled, going on", "err", err)
	} else if err != nil {
		return nil, fmt.Errorf("settle an earlier change of the network: %w", err)
	}
	if r, err := n.loadJournal(); err == nil && r != nil && r.Confirm != nil {
		return nil, fmt.Errorf("change the network: %w until %s", host.ErrNetworkPending, r.Confirm.Deadline.Format(time.RFC3339))
	}
	c, err := n.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("change the network: %w", err)
	}
	if err := c.awaitOtherLeases(ctx, n.o.Log); err != nil {
		c.close()
		return nil, fmt.Errorf("change the network: %w", err)
	}
	t := &transaction{
		n: n, c: c, log: n.o.Log, asked: want, want: want, activating: map[target]dbus.ObjectPath{}, activations: map[target]int{},
		ephemeral: slices.Contains(options, host.NetworkEphemeral),
	}
	if err := t.preparePlan(ctx); err != nil {
		c.close()
		return nil, fmt.Errorf("plan the change of the network: %w", err)
	}
	return t, nil
}

// finishCommitted ends the checkpoint of a committed record and forgets the record.
func (n *Network) finishCommitted(ctx context.Context, c *client, r *record) error {
	if err := c.dropLease(ctx, r.Lease); err != nil {
		return fmt.Errorf("the network is committed, but the checkpoint could not be ended: %w", err)
	}
	if err := n.settlePairs(); err != nil {
		return fmt.Errorf("the network is committed, but its pairs of virtual cards may not come back after a boot: %w", err)
	}
	if err := r.deleteBareLinks(); err != nil {
		return fmt.Errorf("the network is committed, but not all links without a profile are gone: %w", err)
	}
	return n.removeJournal()
}

func runProof(ctx context.Context, prove func(context.Context) error) error {
	if prove == nil {
		return nil
	}
	if err := prove(ctx); err != nil {
		return fmt.Errorf("prove the network: %w", err)
	}
	return nil
}

// run does the transaction up to and including the settlement (commit, or hand-over to a person); on any error the old
// network is back when it returns, or the error says that it is not.
func (t *transaction) run(ctx context.Context, settle func(context.Context) error) error {
	if err := t.n.storeJournal(t.record); err != nil {
		return err
	}
	var err error
	t.leased = time.Now()
	if t.record.Lease, err = t.c.takeLease(ctx, t.leaseLength()); err != nil {
		return errors.Join(err, t.n.removeJournal())
	}
	t.events = t.c.subscribeEvents()
	defer t.events.close()
	if err := t.underLease(ctx, settle); err != nil {
		return t.goBack(ctx, err)
	}
	return nil
}

// leaseLength grows with the change: NetworkManager answers nothing while it works through many profiles.
func (t *transaction) leaseLength() time.Duration {
	const each = 20 * time.Millisecond
	return t.n.o.Lease + time.Duration(len(t.changes))*each
}

// underLease does what must happen while NetworkManager stands ready to go back.
func (t *transaction) underLease(ctx context.Context, settle func(context.Context) error) error {
	ctx, lost := context.WithCancelCause(ctx)
	var alive sync.WaitGroup
	defer alive.Wait() // a late sign of life must not shorten what the settlement arranged
	defer lost(nil)
	lease := t.record.Lease // commit replaces the record while the lease is kept alive
	alive.Go(func() { t.keepAlive(ctx, lease, lost) })
	if err := t.n.storeJournal(t.record); err != nil { // now with the lease
		return err
	}
	if err := t.takeBareLinksDown(); err != nil {
		return withContextCause(ctx, err)
	}
	if err := t.writeLeavingProfiles(ctx); err != nil {
		return withContextCause(ctx, err)
	}
	for _, c := range t.changes {
		t.log.Info("changing the network", "interface", c.Iface, "profile", c.After.ID(), "new", c.Before == nil)
		if err := t.applyChange(ctx, c); err != nil {
			return withContextCause(ctx, err)
		}
	}
	if t.global != nil {
		if err := t.c.setGlobalDNS(ctx, *t.global); err != nil {
			return withContextCause(ctx, fmt.Errorf("set the DNS servers: %w", err))
		}
	}
	if t.node != nil {
		if err := t.n.nodeWide().Start(ctx, t.node.New); err != nil {
			return withContextCause(ctx, err)
		}
	}
	if err := t.awaitInPlace(ctx); err != nil {
		return withContextCause(ctx, err)
	}
	return withContextCause(ctx, settle(ctx))
}

// withContextCause adds why the context ended, which the failed call does not know.
func withContextCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

// commitChange extends the lease, saves and says so in the journal.
func (t *transaction) commitChange(ctx context.Context) error {
	// A full lease from here: the saving must not run into its end.
	if err := t.c.extendLease(ctx, t.record.Lease, t.leaseLength()); err != nil {
		return fmt.Errorf("extend the checkpoint for the commit: %w", err)
	}
	committed, err := t.n.commitRecord(ctx, t.c, t.record)
	if err == nil {
		t.record = committed
	}
	return err
}

// commitRecord writes the record's profiles to disk and then says so in the journal.
func (n *Network) commitRecord(ctx context.Context, c *client, r *record) (*record, error) {
	for _, p := range r.Profiles {
		if err := c.saveProfile(ctx, p); err != nil && !r.Ephemeral {
			return nil, fmt.Errorf("save the profile of %s: %w", p.Iface, err)
		}
	}
	files, err := n.flushSaved(r)
	if err != nil {
		return nil, err
	}
	if r.Node != nil {
		if err := n.nodeWide().Store(ctx, r.Node.New); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err // the last moment at which the caller may change its mind
	}
	committed := *r
	committed.Phase, committed.New, committed.Confirm = phaseCommitted, files, nil
	return &committed, n.storeJournal(&committed)
}

// flushSaved makes what NetworkManager saved survive a power cut, and returns the profiles' files.
func (n *Network) flushSaved(r *record) (map[string]string, error) {
	files, err := n.readKeyfiles(r.profileUUIDs())
	if err != nil {
		return nil, fmt.Errorf("read the saved profiles: %w", err)
	}
	if err := n.flushProfiles(files); err != nil {
		return nil, fmt.Errorf("flush the saved profiles: %w", err)
	}
	if r.GlobalNew != nil {
		if err := n.persistGlobal(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// saveProfile brings the disk in line with NetworkManager's memory.
func (c *client) saveProfile(ctx context.Context, p touched) error {
	if !p.Save && !p.Delete {
		return nil
	}
	path := dbus.ObjectPath("")
	if err := c.call(ctx, pathSettings, ifaceSettings+".GetConnectionByUuid", []any{p.UUID}, &path); err != nil {
		return fmt.Errorf("find the profile of %s: %w", p.Iface, err)
	}
	if p.Delete {
		return c.call(ctx, path, ifaceProfile+".Delete", nil)
	}
	return c.call(ctx, path, ifaceProfile+".Save", nil)
}

// goBack returns to the old network after a failure and reports both.
func (t *transaction) goBack(ctx context.Context, cause error) error {
	t.log.Warn("going back to the old network", "because", cause)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goBackTime)
	defer cancel()
	if err := t.n.undoRecord(ctx, t.record); err != nil {
		return fmt.Errorf("%w; and the old network is not back: %w", cause, err)
	}
	return fmt.Errorf("%w; the old network is back", cause)
}

// waitBounded is events.until with the transaction's own bound.
func (t *transaction) waitBounded(ctx context.Context, check func() ([]string, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.n.o.Settle, fmt.Errorf("not in place after %s", t.n.o.Settle))
	defer cancel()
	return t.events.waitFor(ctx, check)
}
