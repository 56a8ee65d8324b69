package nm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Begin implements host.NetworkTransaction: Apply up to the commit. The checkpoint then gets the whole lease, and
// NetworkManager restores the former network at its end without any program of ours.
func (n *Network) Begin(
	ctx context.Context, want netstate.Document, lease time.Duration, options ...host.NetworkOption,
) (bool, error) {
	if lease < time.Second {
		return false, fmt.Errorf("begin a change of the network: a time of %s to confirm it is too short", lease)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t, err := n.openTransaction(ctx, want, options)
	if err != nil {
		return false, err
	}
	defer t.c.close()
	if t.record == nil {
		return false, nil
	}
	if err := t.run(ctx, func(context.Context) error { return nil }); err != nil {
		return false, fmt.Errorf("change the network: %w", err)
	}
	// The keep-alive has ended, and this process still has the short lease to say how long the long one is.
	now := n.o.Now()
	waiting := *t.record
	waiting.Confirm = &host.PendingNetwork{Began: waiting.Began, Deadline: now.Add(lease), Want: want.Redacted()}
	err = t.c.extendLease(ctx, waiting.Lease, lease)
	if err == nil {
		err = n.storeJournal(&waiting)
	}
	if err != nil {
		return false, fmt.Errorf("change the network: %w", t.goBack(ctx, err))
	}
	return true, nil
}

// Pending implements host.NetworkTransaction.
func (n *Network) Pending(ctx context.Context) (host.PendingNetwork, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, c, err := n.loadPending(ctx)
	if errors.Is(err, host.ErrNoNetworkPending) {
		return host.PendingNetwork{}, false, nil
	}
	if err != nil {
		return host.PendingNetwork{}, false, fmt.Errorf("look for a change of the network that waits for its confirmation: %w", err)
	}
	c.close()
	return *r.Confirm, true, nil
}

// loadPending returns the record of the change that waits, and a connection.
func (n *Network) loadPending(ctx context.Context) (*record, *client, error) {
	r, err := n.loadJournal()
	if err != nil {
		return nil, nil, err
	}
	if r == nil || r.Confirm == nil {
		return nil, nil, host.ErrNoNetworkPending
	}
	c, err := n.connect(ctx)
	if errors.Is(err, errNoManager) {
		return nil, nil, host.ErrNoNetworkPending // the checkpoint ended with NetworkManager
	}
	if err != nil {
		return nil, nil, err
	}
	held, err := c.holdsLease(ctx, r.Lease)
	if err == nil && !held {
		err = host.ErrNoNetworkPending
	}
	if err != nil {
		c.close()
		return nil, nil, err
	}
	return r, c, nil
}

// Commit implements host.NetworkTransaction.
func (n *Network) Commit(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, c, err := n.loadPending(ctx)
	if err != nil {
		return fmt.Errorf("commit the change of the network: %w", err)
	}
	defer c.close()
	// The saving must not run into the end of the lease.
	if err := c.extendLease(ctx, r.Lease, n.o.Lease+goBackTime); err != nil {
		return fmt.Errorf("commit the change of the network: %w", err)
	}
	committed, err := n.commitRecord(ctx, c, r)
	if err != nil {
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), goBackTime)
		defer cancel()
		return errors.Join(fmt.Errorf("commit the change of the network: %w", err), n.undoRecord(back, r))
	}
	if err := n.finishCommitted(context.WithoutCancel(ctx), c, committed); err != nil {
		return fmt.Errorf("commit the change of the network: %w", err)
	}
	return nil
}

// Rollback implements host.NetworkTransaction.
func (n *Network) Rollback(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, c, err := n.loadPending(ctx)
	if err != nil {
		return fmt.Errorf("roll back the change of the network: %w", err)
	}
	c.close()
	if err := n.undoRecord(ctx, r); err != nil {
		return fmt.Errorf("roll back the change of the network: %w", err)
	}
	return nil
}

// Plan implements host.NetworkPlanner.
func (n *Network) Plan(ctx context.Context, want netstate.Document) ([]host.NetworkChange, error) {
	if err := netstate.Validate(want); err != nil {
		return nil, fmt.Errorf("validate the document: %w", err)
	}
	c, err := n.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("plan a change of the network: %w", err)
	}
	defer c.close()
	t := &transaction{n: n, c: c, log: n.o.Log, asked: want}
	if err := t.refreshState(ctx); err != nil {
		return nil, fmt.Errorf("plan a change of the network: %w", err)
	}
	if err := t.computeChanges(ctx); err != nil {
		return nil, fmt.Errorf("plan a change of the network: %w", err)
	}
	var out []host.NetworkChange
	for _, ch := range t.changes {
		d, exists := t.snap.DeviceAt(ch.Layer(), ch.Iface)
		out = append(out, host.NetworkChange{
			Interface: ch.Iface, Keys: ch.Keys(),
			Disruption: ch.Disruption(exists, exists && d.Active != nil && d.Active.UUID == ch.UUID),
		})
	}
	for _, name := range t.bare {
		out = append(out, host.NetworkChange{Interface: name, Keys: []string{"state"}, Disruption: host.DisruptionDown})
	}
	if t.node != nil {
		out = append(out, host.NetworkChange{Disruption: host.DisruptionNone, Keys: t.node.Keys()})
	}
	if t.global != nil {
		out = append(out, host.NetworkChange{Disruption: host.DisruptionNone, Keys: []string{"dns.global"}})
	}
	return out, nil
}
