package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"reflect"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Network is the node's host.Network.
func (n *Links) Network() host.Network { return networks{n} }

type networks struct{ n *Links }

func (w networks) Observe(context.Context) (netstate.Document, error) {
	w.n.Enter()
	defer w.n.Unlock()
	return w.n.net.observe(), w.n.requireManager()
}

func (w networks) Apply(
	ctx context.Context, want netstate.Document, prove func(context.Context) error, options ...host.NetworkOption,
) error {
	if err := w.n.requireManager(); err != nil {
		return err
	}
	if trials, err := w.Trials(ctx); err != nil || len(trials) > 0 { // the real one waits first
		return errors.Join(err, fmt.Errorf("apply network: %w: %s", host.ErrNetworkUnavailable, trials[0]))
	}
	if _, pending, err := w.Pending(ctx); err != nil || pending {
		return errors.Join(err, fmt.Errorf("apply network: %w", host.ErrNetworkPending))
	}
	if err := w.Recover(ctx); err != nil {
		return err
	}
	if err := w.n.apply(ctx, want, prove, slices.Contains(options, host.NetworkEphemeral)); err != nil {
		return fmt.Errorf("apply network: %w", err)
	}
	return nil
}

func (n *Links) apply(ctx context.Context, want netstate.Document, prove func(context.Context) error, ephemeral bool) error {
	next, err := n.bringUp(want)
	if err == nil && prove != nil {
		err = prove(ctx)
	}
	n.Enter()
	defer n.Unlock()
	switch {
	case err == nil && ephemeral:
		n.open = nil
	case err == nil:
		err = n.keep(*n.open, next, want)
	}
	if n.open != nil {
		n.net, n.open = *n.open, nil // not committed: the former network comes back
		n.changed()
	}
	return err
}

// bringUp makes the document run, without a word to the disk.
func (n *Links) bringUp(want netstate.Document) (network, error) {
	n.Enter()
	defer n.Unlock()
	if err := n.checkKernel(want); err != nil {
		return network{}, err
	}
	former := n.net.clone()
	next, err := n.net.merge(want)
	if err != nil {
		return next, err
	}
	if !former.equal(next) {
		if err := n.Change("network.apply", ""); err != nil {
			return next, err
		}
		n.net = next.clone()
		n.changed()
	}
	n.open = &former
	return next, n.collision(want)
}

// collision is what NetworkManager finds by itself, and does not explain: another machine has an address.
func (n *Links) collision(want netstate.Document) error {
	for _, i := range want.Interfaces {
		for _, ip := range []*netstate.IP{i.IPv4, i.IPv6} {
			if ip == nil {
				continue
			}
			for _, a := range ip.Addresses {
				if at, err := netip.ParseAddr(a.IP); err == nil && n.occupied[at] {
					return fmt.Errorf("activate %s: no reason given", i.Name)
				}
			}
		}
	}
	return nil
}

// keep writes the profiles that the change concerns and that differ from those on disk: the whole change is recorded
// first, so that Recover can finish it.
func (n *Links) keep(former, next network, want netstate.Document) error {
	changes := map[string]*string{} // by path; nil deletes
	have := n.profilesIn("")
	for name, p := range next.profiles {
		text := p.keyfile()
		if next.concerned(name, former, want) && (have[name].iface.Name == "" || have[name].keyfile() != text) {
			changes[keyfilePath(name)] = &text
		}
	}
	for name := range have {
		if _, ok := next.profiles[name]; !ok && next.concerned(name, former, want) {
			changes[keyfilePath(name)] = nil
		}
	}
	if !reflect.DeepEqual(n.nodeWide(), next.wide) {
		text, err := json.Marshal(next.wide)
		if err != nil {
			return err
		}
		changes[netWide] = new(string(text))
	}
	if len(changes) == 0 {
		n.open = nil
		return nil
	}
	record, err := json.Marshal(changes)
	if err != nil {
		return err
	}
	if err := n.Change("network.commit", ""); err != nil {
		return err
	}
	if err := n.WriteDurable(netTransaction, machine.Secret(string(record))); err != nil {
		return err
	}
	n.open = nil
	return n.save(changes)
}

// save carries out a recorded change, profile by profile.
func (n *Links) save(changes map[string]*string) error {
	for _, p := range slices.Sorted(maps.Keys(changes)) {
		if err := n.Change("network.save", p); err != nil {
			return err
		}
		if content := changes[p]; content != nil {
			if err := n.WriteDurable(p, machine.Secret(*content)); err != nil {
				return err
			}
		} else if at, err := n.Resolve(p, false); err == nil {
			n.Disk.Remove(at, true)
		}
	}
	if err := n.Change("network.close", ""); err != nil {
		return err
	}
	at, err := n.Resolve(netTransaction, false)
	if err == nil {
		n.Disk.Remove(at, true)
	}
	return err
}

func (w networks) Recover(context.Context) error {
	n := w.n
	n.Enter()
	defer n.Unlock()
	if n.pending != nil {
		return nil
	}
	record, err := n.ReadFile(netTransaction)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var changes map[string]*string
	if err := json.Unmarshal(record, &changes); err != nil {
		return fmt.Errorf("recover network transaction: %w", err)
	}
	if err := n.save(changes); err != nil {
		return err
	}
	n.net.profiles, n.net.wide = n.profilesIn(""), n.nodeWide()
	n.changed()
	return nil
}
