package network

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// pendingNetwork is a change that waits for its confirmation. A reboot forgets it: the disk holds the former network.
type pendingNetwork struct {
	host.PendingNetwork
	former, next network
	ephemeral    bool
	expiry       *time.Timer
}

// NetworkTransaction is the node's host.NetworkTransaction.
func (n *Links) NetworkTransaction() host.NetworkTransaction { return networks{n} }

func (w networks) Begin(
	ctx context.Context, want netstate.Document, lease time.Duration, options ...host.NetworkOption,
) (bool, error) {
	if _, pending, err := w.Pending(ctx); err != nil || pending {
		return false, fmt.Errorf("begin a change of the network: %w", host.ErrNetworkPending)
	}
	if err := w.Recover(ctx); err != nil {
		return false, err
	}
	next, err := w.n.bringUp(want)
	w.n.Enter()
	defer w.n.Unlock()
	former := *w.n.open
	w.n.open = nil
	if err != nil {
		w.n.net = former
		w.n.changed()
		return false, fmt.Errorf("begin a change of the network: %w", err)
	}
	if former.equal(next) {
		return false, nil
	}
	began := time.Now()
	p := &pendingNetwork{
		PendingNetwork: host.PendingNetwork{Began: began, Deadline: began.Add(lease), Want: want},
		former:         former, next: next, ephemeral: slices.Contains(options, host.NetworkEphemeral),
	}
	p.expiry = time.AfterFunc(lease, func() {
		w.n.Lock()
		defer w.n.Unlock()
		w.n.takeBack(p)
	})
	w.n.pending = p
	return true, nil
}

// takeBack restores the network before the pending change, if that is still the pending one.
func (n *Links) takeBack(p *pendingNetwork) {
	if n.pending != p {
		return
	}
	n.net, n.pending = p.former, nil
	n.changed()
}

func (w networks) Commit(context.Context) error {
	w.n.Enter()
	defer w.n.Unlock()
	p := w.n.pending
	if p == nil {
		return host.ErrNoNetworkPending
	}
	p.expiry.Stop()
	w.n.pending = nil
	if p.ephemeral {
		return nil
	}
	return w.n.keep(p.former, p.next, p.Want)
}

func (w networks) Rollback(context.Context) error {
	w.n.Enter()
	defer w.n.Unlock()
	p := w.n.pending
	if p == nil {
		return host.ErrNoNetworkPending
	}
	p.expiry.Stop()
	w.n.takeBack(p)
	return nil
}

func (w networks) Pending(context.Context) (host.PendingNetwork, bool, error) {
	w.n.Enter()
	defer w.n.Unlock()
	if p := w.n.pending; p != nil {
		return p.PendingNetwork, true, nil
	}
	return host.PendingNetwork{}, false, nil
}

// concerned says that the change names the interface or changes it.
func (w network) concerned(name string, former network, want netstate.Document) bool {
	was, had := former.profiles[name]
	is, has := w.profiles[name]
	if had != has || had && was.keyfile() != is.keyfile() {
		return true
	}
	return slices.ContainsFunc(want.Interfaces, func(i netstate.Interface) bool {
		return i.Name == name || i.Name == host.BridgeExternal && name == w.bridged
	})
}

// CheckKernel implements host.NetworkPlanner.
func (w networks) CheckKernel(want netstate.Document) error {
	w.n.Enter()
	defer w.n.Unlock()
	return w.n.checkKernel(want)
}

// NetworkPlanner is the node's host.NetworkPlanner.
func (n *Links) NetworkPlanner() host.NetworkPlanner { return networks{n} }

func (w networks) Plan(_ context.Context, want netstate.Document) ([]host.NetworkChange, error) {
	w.n.Enter()
	defer w.n.Unlock()
	if err := errors.Join(w.n.requireManager(), w.n.checkKernel(want)); err != nil {
		return nil, fmt.Errorf("plan a change of the network: %w", err)
	}
	next, err := w.n.net.merge(want)
	if err != nil {
		return nil, fmt.Errorf("plan a change of the network: %w", err)
	}
	names := maps.Clone(w.n.net.profiles)
	maps.Copy(names, next.profiles)
	var out []host.NetworkChange
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := w.n.net.profiles[name]
		is, has := next.profiles[name]
		switch {
		case !has:
			out = append(out, host.NetworkChange{Interface: name, Disruption: host.DisruptionDown})
		case !had:
			out = append(out, host.NetworkChange{Interface: name, Disruption: host.DisruptionCreate})
		case was.keyfile() != is.keyfile():
			out = append(out, host.NetworkChange{Interface: name, Disruption: host.DisruptionInPlace, Keys: []string{"ipv4.address-data"}})
		}
	}
	return out, nil
}

// NetworkWatch is the node's host.NetworkWatch.
func (n *Links) NetworkWatch() host.NetworkWatch { return networks{n} }

func (w networks) Changes(ctx context.Context) (<-chan struct{}, error) {
	n := w.n
	n.Enter()
	defer n.Unlock()
	c := make(chan struct{}, 1)
	c <- struct{}{}
	if n.watchers == nil {
		n.watchers = map[chan struct{}]struct{}{}
	}
	n.watchers[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		n.Lock()
		defer n.Unlock()
		delete(n.watchers, c)
		close(c)
	})
	return c, nil
}

// changed wakes the watchers.
func (n *Links) changed() {
	for c := range n.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// ChangeNetwork merges the document into the running network as a program that is not under test does: the disk stays.
func (n *Links) ChangeNetwork(want netstate.Document) error {
	n.Lock()
	defer n.Unlock()
	next, err := n.net.merge(want)
	if err != nil {
		return err
	}
	n.net = next
	n.changed()
	return nil
}
