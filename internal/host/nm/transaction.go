package nm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
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
//	verify, prove            the new network runs and carries traffic
//	save each profile        to disk
//	journal (committed)      the commit point
//	checkpoint ends
type transaction struct {
	n          *Network
	c          *client
	log        *slog.Logger
	snap       *profile.Snapshot
	want       netstate.Document
	changes    []*plan.Change
	global     *profile.GlobalDNS // nil where it is not touched
	record     *record
	events     *events
	activating map[string]dbus.ObjectPath // by interface
}

// Apply implements host.Network. Errors of the document come before anything is touched. Where
// everything is in place already, only prove runs. A family of an interface that is
// not mentioned stays as it is, and so do addresses other programs added.
func (n *Network) Apply(
	ctx context.Context, want netstate.Document, prove func(context.Context) error, _ ...host.NetworkOption,
) error {
	if err := netstate.Validate(want); err != nil {
		return fmt.Errorf("validate the document: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.recover(ctx); errors.Is(err, errNotInForce) {
		n.o.Log.Warn("an earlier change of the network is not settled, going on", "err", err)
	} else if err != nil {
		return fmt.Errorf("settle an earlier change of the network: %w", err)
	}
	c, err := n.connect(ctx)
	if err != nil {
		return fmt.Errorf("change the network: %w", err)
	}
	defer c.close()
	t := &transaction{n: n, c: c, log: n.o.Log, want: want, activating: map[string]dbus.ObjectPath{}}
	if err := t.prepare(ctx); err != nil {
		return fmt.Errorf("plan the change of the network: %w", err)
	}
	if t.record == nil {
		t.log.Info("the network is as wanted, nothing to change")
		return runProof(ctx, prove)
	}
	if err := t.run(ctx, prove); err != nil {
		return fmt.Errorf("change the network: %w", err)
	}
	return nil
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

// run does the whole transaction; on any error the old network is back when it returns, or
// the error says that it is not.
func (t *transaction) run(ctx context.Context, prove func(context.Context) error) error {
	if err := t.n.store(t.record); err != nil {
		return err
	}
	var err error
	if t.record.Lease, err = t.c.takeLease(ctx, t.n.o.Lease); err != nil {
		return errors.Join(err, t.n.forget())
	}
	t.events = t.c.events()
	defer t.events.close()
	if err := t.underLease(ctx, prove); err != nil {
		return t.goBack(ctx, err)
	}
	// Committed: from here on there is only forward.
	if err := t.c.dropLease(context.WithoutCancel(ctx), t.record.Lease); err != nil {
		return fmt.Errorf("the network is committed, but the checkpoint could not be ended: %w", err)
	}
	return t.n.forget()
}

// underLease does what must happen while NetworkManager stands ready to go back.
func (t *transaction) underLease(ctx context.Context, prove func(context.Context) error) error {
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	go t.c.keepAlive(ctx, t.record.Lease, t.n.o.Lease, t.log, lost)
	if err := t.n.store(t.record); err != nil { // now with the lease
		return err
	}
	for _, c := range t.changes {
		t.log.Info("changing the network", "interface", c.Iface, "profile", c.After.ID(), "new", c.Before == nil)
		if err := t.bring(ctx, c); err != nil {
			return because(ctx, err)
		}
	}
	if t.global != nil {
		if err := t.c.setGlobalDNS(ctx, *t.global); err != nil {
			return because(ctx, fmt.Errorf("set the DNS servers: %w", err))
		}
	}
	if err := t.verify(ctx); err != nil {
		return because(ctx, err)
	}
	if err := runProof(ctx, prove); err != nil {
		return because(ctx, err)
	}
	return because(ctx, t.commit(ctx))
}

// because adds why the context ended, which the failed call does not know.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

// commit writes the profiles to disk and then says so in the journal.
func (t *transaction) commit(ctx context.Context) error {
	// A full lease from here: the saving must not run into its end.
	if err := t.c.extend(ctx, t.record.Lease, t.n.o.Lease); err != nil {
		return fmt.Errorf("extend the checkpoint for the commit: %w", err)
	}
	for _, c := range t.changes {
		if err := t.save(ctx, c); err != nil {
			return fmt.Errorf("save the profile of %s: %w", c.Iface, err)
		}
	}
	files, err := t.n.keyfiles(t.record.uuids())
	if err != nil {
		return fmt.Errorf("read the saved profiles: %w", err)
	}
	if err := t.n.persist(files); err != nil {
		return fmt.Errorf("flush the saved profiles: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return err // the last moment at which the caller may change its mind
	}
	committed := *t.record
	committed.Phase, committed.New = phaseCommitted, files
	if err := t.n.store(&committed); err != nil {
		return err
	}
	t.record = &committed
	return nil
}

func (t *transaction) save(ctx context.Context, c *plan.Change) error {
	if c.Action == plan.ActDown || !c.Edited() {
		return nil
	}
	path := dbus.ObjectPath("")
	if err := t.c.call(ctx, pathSettings, ifaceSettings+".GetConnectionByUuid", []any{c.UUID}, &path); err != nil {
		return fmt.Errorf("find the profile of %s: %w", c.Iface, err)
	}
	if c.Action == plan.ActRemove {
		return t.c.call(ctx, path, ifaceProfile+".Delete", nil)
	}
	return t.c.call(ctx, path, ifaceProfile+".Save", nil)
}

// goBack returns to the old network after a failure and reports both.
func (t *transaction) goBack(ctx context.Context, cause error) error {
	t.log.Warn("going back to the old network", "because", cause)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goBackTime)
	defer cancel()
	if err := t.n.undo(ctx, t.record); err != nil {
		return fmt.Errorf("%w; and the old network is not back: %w", cause, err)
	}
	return fmt.Errorf("%w; the old network is back", cause)
}

// wait is events.until with the transaction's own bound.
func (t *transaction) wait(ctx context.Context, check func() ([]string, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.n.o.Settle, fmt.Errorf("not in place after %s", t.n.o.Settle))
	defer cancel()
	return t.events.until(ctx, check)
}
