package hosttest

import (
	"context"
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
func (n *Node) NetworkTransaction() host.NetworkTransaction { return networks{n} }

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
	w.n.lock()
	defer w.n.mu.Unlock()
	former := *w.n.openNet
	w.n.openNet = nil
	if err != nil {
		w.n.net = former
		w.n.networkChanged()
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
		w.n.mu.Lock()
		defer w.n.mu.Unlock()
		w.n.takeBack(p)
	})
	w.n.pendingNet = p
	return true, nil
}

// takeBack restores the network before the pending change, if that is still the pending one.
func (n *Node) takeBack(p *pendingNetwork) {
	if n.pendingNet != p {
		return
	}
	n.net, n.pendingNet = p.former, nil
	n.networkChanged()
}

func (w networks) Commit(context.Context) error {
	w.n.lock()
	defer w.n.mu.Unlock()
	p := w.n.pendingNet
	if p == nil {
		return host.ErrNoNetworkPending
	}
	p.expiry.Stop()
	w.n.pendingNet = nil
	if p.ephemeral {
		return nil
	}
	return w.n.keep(p.former, p.next, p.Want)
}

func (w networks) Rollback(context.Context) error {
	w.n.lock()
	defer w.n.mu.Unlock()
	p := w.n.pendingNet
	if p == nil {
		return host.ErrNoNetworkPending
	}
	p.expiry.Stop()
	w.n.takeBack(p)
	return nil
}

func (w networks) Pending(context.Context) (host.PendingNetwork, bool, error) {
	w.n.lock()
	defer w.n.mu.Unlock()
	if p := w.n.pendingNet; p != nil {
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

// NetworkPlanner is the node's host.NetworkPlanner.
func (n *Node) NetworkPlanner() host.NetworkPlanner { return networks{n} }

func (w networks) Plan(_ context.Context, want netstate.Document) ([]host.NetworkChange, error) {
	w.n.lock()
	defer w.n.mu.Unlock()
	next, err := w.n.net.merge(want)
	if err != nil {
		return nil, fmt.Errorf("plan a change of the network: %w", err)
	}
	names := maps.Clone(w.n.net.profiles)
	maps.Copy(names, next.profiles)
	var out []host.NetworkChange
	for _, name := range sorted(names) {
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
func (n *Node) NetworkWatch() host.NetworkWatch { return networks{n} }

func (w networks) Changes(ctx context.Context) (<-chan struct{}, error) {
	n := w.n
	n.lock()
	defer n.mu.Unlock()
	c := make(chan struct{}, 1)
	c <- struct{}{}
	if n.netWatchers == nil {
		n.netWatchers = map[chan struct{}]struct{}{}
	}
	n.netWatchers[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.netWatchers, c)
		close(c)
	})
	return c, nil
}

// networkChanged wakes the watchers.
func (n *Node) networkChanged() {
	for c := range n.netWatchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// ChangeNetwork merges the document into the running network as a program that is not under test does: the disk stays.
func (n *Node) ChangeNetwork(want netstate.Document) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	next, err := n.net.merge(want)
	if err != nil {
		return err
	}
	n.net = next
	n.networkChanged()
	return nil
}
