package nm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Recover implements host.Network. It needs no NetworkManager to put key files in order, so a
// unit ordered before NetworkManager.service may call it; the journal then stays until a
// call finds NetworkManager running and the network in force.
func (n *Network) Recover(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.recover(ctx); err != nil {
		return fmt.Errorf("settle an interrupted change of the network: %w", err)
	}
	return nil
}

func (n *Network) recover(ctx context.Context) error {
	r, err := n.load()
	if r == nil || err != nil {
		return err
	}
	n.o.Log.Warn("a change of the network was interrupted", "phase", r.Phase, "began", r.Began)
	if r.Phase == phaseCommitted {
		return n.redo(ctx, r)
	}
	return n.undo(ctx, r)
}

// undo brings the old network back, whatever of the new one exists, and closes the journal.
func (n *Network) undo(ctx context.Context, r *record) error {
	c, err := n.connect(ctx)
	if errors.Is(err, errNoManager) {
		_, err := n.putBack(r.uuids(), r.Old)
		return err // the journal stays: what runs could not be seen
	}
	if err != nil {
		return err
	}
	defer c.close()
	held, err := c.holds(ctx, r.Lease)
	if err != nil {
		return err
	}
	if held {
		if err := c.takeBack(ctx, r.Lease); err != nil {
			n.o.Log.Warn("NetworkManager could not take back everything, finishing by hand", "err", err)
		}
	}
	if err := n.restore(ctx, c, r, held); err != nil {
		return err
	}
	return n.forget()
}

// redo finishes a committed transaction: NetworkManager may have gone back to
// the old network when the lease ended, right after the commit.
func (n *Network) redo(ctx context.Context, r *record) error {
	c, err := n.connect(ctx)
	if errors.Is(err, errNoManager) {
		_, err := n.putBack(r.uuids(), r.New)
		return err
	}
	if err != nil {
		return err
	}
	defer c.close()
	held, err := c.holds(ctx, r.Lease)
	if err != nil {
		return err
	}
	if held {
		if err := c.dropLease(ctx, r.Lease); err != nil {
			return err
		}
	}
	if err := n.restore(ctx, c, r, false); err != nil {
		return err
	}
	return n.forget()
}

// restore makes key files, NetworkManager's memory and the running system agree with
// one side of the record. What agrees is left untouched, and where NetworkManager
// is on its way there by itself it gets the time.
func (n *Network) restore(ctx context.Context, c *client, r *record, onItsWay bool) error {
	right, wrong := r.sides()
	changed, err := n.putBack(r.uuids(), right.files)
	if err != nil {
		return err
	}
	if changed {
		if err := c.call(ctx, pathSettings, ifaceSettings+".ReloadConnections", nil); err != nil {
			return err
		}
	}
	if right.global != nil {
		if err := c.setGlobalDNS(ctx, *right.global); err != nil {
			return fmt.Errorf("set the DNS servers: %w", err)
		}
	}
	e := c.events()
	defer e.close()
	check := func() ([]string, error) {
		if err := restoreForeign(right.foreign); err != nil {
			return nil, err
		}
		return n.missing(ctx, c, right, wrong)
	}
	patience := time.Duration(0)
	if onItsWay {
		patience = goBackTime / 4
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	err = e.until(soon, check)
	cancel()
	if err == nil {
		return nil
	}
	if err := n.reactivate(ctx, c, r); err != nil {
		return err
	}
	settled, cancel := context.WithTimeoutCause(ctx, n.o.Settle, fmt.Errorf("not in place after %s", n.o.Settle))
	defer cancel()
	return e.until(settled, check)
}

// side is one of the two states the network can come to rest in.
type side struct {
	files   map[string]string
	state   netstate.Document
	foreign []foreign
	global  *globalDNS
}

// sides says which state the network belongs in, and which it must have nothing left of.
func (r *record) sides() (right, wrong side) {
	right = side{r.Old, r.Before, r.ForeignBefore, r.GlobalOld}
	wrong = side{r.New, r.After, r.ForeignAfter, r.GlobalNew}
	if r.Phase == phaseCommitted {
		return wrong, right
	}
	return right, wrong
}

// missing compares the system with the side it belongs in, in words. A restarted NetworkManager
// leaves addresses it finds alone, so what is left of the other side counts.
func (n *Network) missing(ctx context.Context, c *client, right, wrong side) ([]string, error) {
	s, err := c.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	got, err := n.observe(ctx, c, s)
	if err != nil {
		return nil, err
	}
	return append(netstate.Verify(right.state, got), leftovers(right, wrong, got)...), nil
}

// leftovers lists the addresses and routes of the wrong side that are there and have no business to.
func leftovers(right, wrong side, got netstate.Document) []string {
	var out []string
	for _, i := range wrong.state.Interfaces {
		for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			for _, a := range addressesOf(wrong.state, i.Name, f) {
				if !slices.Contains(addressesOf(right.state, i.Name, f), a) && fixed(right.state, i.Name, f) &&
					!isForeign(right.foreign, i.Name, a) && slices.Contains(addressesOf(got, i.Name, f), a) {
					out = append(out, fmt.Sprintf("interface %s still has address %s", i.Name, a))
				}
			}
		}
	}
	for _, r := range wrong.state.Routes.Config {
		same := func(o netstate.Route) bool { return netstate.SameRoute(o, r) }
		if !r.Removes() && !slices.ContainsFunc(right.state.Routes.Config, same) && slices.ContainsFunc(got.Routes.Config, same) {
			out = append(out, fmt.Sprintf("route %s is still there", r))
		}
	}
	return out
}

func addressesOf(d netstate.Document, iface string, f netstate.Family) []netip.Prefix {
	var out []netip.Prefix
	for _, i := range d.Interfaces {
		if i.Name == iface {
			all, _ := f.Of(i).Prefixes() // both sides were read from a system or validated
			out = append(out, all...)
		}
	}
	return out
}

// fixed says that the side knows every address the family should have.
func fixed(d netstate.Document, iface string, f netstate.Family) bool {
	return slices.ContainsFunc(d.Interfaces, func(i netstate.Interface) bool {
		return i.Name == iface && f.Of(i) != nil && !f.Of(i).Auto()
	})
}

func isForeign(all []foreign, iface string, p netip.Prefix) bool {
	return slices.ContainsFunc(all, func(f foreign) bool { return f.Iface == iface && slices.Contains(f.Addresses, p.String()) })
}

// reactivate makes the profiles that should be in force so, from their files.
func (n *Network) reactivate(ctx context.Context, c *client, r *record) error {
	s, err := c.snapshot(ctx)
	if err != nil {
		return err
	}
	forward := r.Phase == phaseCommitted
	for _, p := range r.Profiles {
		if forward && !p.Wanted || !forward && !p.Active {
			continue
		}
		pr, ok := s.byUUID(p.UUID)
		if !ok {
			continue // deleted by the change itself
		}
		target := noObject
		if d, ok := s.device(p.Iface); ok {
			target = d.path
		}
		var active dbus.ObjectPath
		n.o.Log.Info("activating profile", "profile", pr.settings.id(), "interface", p.Iface)
		if err := c.call(ctx, pathManager, ifaceManager+".ActivateConnection", []any{pr.path, target, noObject}, &active); err != nil {
			return fmt.Errorf("activate %s: %w", p.Iface, err)
		}
	}
	return nil
}
