package nm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
)

// errNotInForce says that the disk is in order, but that the system does not follow: a
// card is gone, say. The journal stays open for another try, but must not keep
// anybody from applying a document that heals it.
var errNotInForce = errors.New("the profiles are in order, but not in force")

// Recover implements host.Network. It needs no NetworkManager to put key files in order, so a
// unit ordered before NetworkManager.service may call it; the journal then stays until a
// call finds NetworkManager running and the network in force.
func (n *Network) Recover(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.recoverChange(ctx); err != nil {
		return fmt.Errorf("settle an interrupted change of the network: %w", err)
	}
	return nil
}

func (n *Network) recoverChange(ctx context.Context) error {
	r, err := n.loadJournal()
	if r == nil || err != nil {
		return err
	}
	if r.Confirm != nil {
		if held, err := n.awaitsConfirmation(ctx, r); err != nil || held {
			return err
		}
	}
	n.o.Log.Warn("a change of the network was interrupted", "phase", r.Phase, "began", r.Began)
	at, err := n.keyfileFolders()
	if err != nil {
		return err
	}
	r = r.survivingPart(n.o.Boot(), at)
	switch {
	case r.Phase != phaseCommitted:
		return n.undoRecord(ctx, r)
	case r.Ephemeral && r.Boot != n.o.Boot():
		return n.removeJournal() // it ended with its boot
	default:
		return n.redoRecord(ctx, r)
	}
}

// awaitsConfirmation says that NetworkManager still holds the checkpoint of a change that waits for its confirmation.
func (n *Network) awaitsConfirmation(ctx context.Context, r *record) (bool, error) {
	c, err := n.connect(ctx)
	if errors.Is(err, errNoManager) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer c.close()
	return c.holdsLease(ctx, r.Lease)
}

// RecoverFiles puts the key files of an interrupted change in order, by the journal alone: those of the former network, or
// of the committed one. It is for the time before NetworkManager starts; while that runs it changes nothing. The
// journal stays until Recover has seen the network in force.
func (n *Network) RecoverFiles(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, err := n.loadJournal()
	if r == nil || err != nil {
		return err
	}
	if c, err := n.connect(ctx); err == nil {
		c.close()
		n.o.Log.Info("NetworkManager is running; its profiles are left for the recovery of the network")
		return nil
	}
	if r.Phase == phaseCommitted && r.Ephemeral && r.Boot != n.o.Boot() {
		return n.removeJournal()
	}
	at, err := n.keyfileFolders()
	if err != nil {
		return err
	}
	r = r.survivingPart(n.o.Boot(), at)
	right, _ := r.sides()
	changed, err := n.putBack(r, right.files)
	if err == nil {
		err = n.putBackName(right.node.Hostname)
	}
	if err != nil {
		return fmt.Errorf("put the profiles of an interrupted change of the network in order: %w", err)
	}
	n.o.Log.Info("put the profiles of an interrupted change of the network in order", "phase", r.Phase, "changed", changed)
	return nil
}

// undoRecord brings the old network back, whatever of the new one exists, and closes the journal.
func (n *Network) undoRecord(ctx context.Context, r *record) error {
	c, err := n.connect(ctx)
	if errors.Is(err, errNoManager) {
		_, err := n.putBack(r, r.Old)
		return err // the journal stays: what runs could not be seen
	}
	if err != nil {
		return err
	}
	defer c.close()
	held, err := c.holdsLease(ctx, r.Lease)
	if err != nil {
		return fmt.Errorf("check the checkpoint: %w", err)
	}
	if held && n.goBackInPlace(ctx, c, r) {
		return n.removeJournal()
	}
	if held {
		if err := c.rollBack(ctx, r.Lease); err != nil {
			n.o.Log.Warn("NetworkManager did not roll back completely; restoring the rest", "err", err)
			held = false // it is not on its way
		}
	}
	if err := n.restoreSide(ctx, c, r, held); err != nil {
		return fmt.Errorf("restore the former network: %w", err)
	}
	return n.removeJournal()
}

// redoRecord finishes a committed transaction: NetworkManager may have gone back to
// the old network when the lease ended, right after the commit.
func (n *Network) redoRecord(ctx context.Context, r *record) error {
	c, err := n.connect(ctx)
	if errors.Is(err, errNoManager) {
		_, err := n.putBack(r, r.New)
		return err
	}
	if err != nil {
		return err
	}
	defer c.close()
	held, err := c.holdsLease(ctx, r.Lease)
	if err != nil {
		return err
	}
	if held {
		if err := c.dropLease(ctx, r.Lease); err != nil {
			return err
		}
	}
	if err := n.restoreSide(ctx, c, r, false); err != nil {
		return fmt.Errorf("finish the committed network: %w", err)
	}
	if err := errors.Join(n.settlePairs(), r.deleteBareLinks()); err != nil {
		return fmt.Errorf("finish the committed network: %w", err)
	}
	return n.removeJournal()
}

// restoreSide makes key files, NetworkManager's memory and the running system agree with
// one side of the record. What agrees is left untouched, and where NetworkManager
// is on its way there by itself it gets the time.
func (n *Network) restoreSide(ctx context.Context, c *client, r *record, onItsWay bool) error {
	if err := n.putSettingsBack(ctx, c, r); err != nil {
		return err
	}
	gone, err := c.goneCards(ctx, r)
	if err != nil {
		return err
	}
	if len(gone) > 0 {
		n.o.Log.Warn("interfaces are gone; their profiles are in order, and come into force with them", "interfaces", gone)
	}
	e := c.subscribeEvents()
	defer e.close()
	check := n.notBack(ctx, c, r, gone)
	patience := time.Duration(0)
	if onItsWay {
		patience = goBackTime / 4
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	err = e.waitFor(soon, check)
	cancel()
	if err == nil {
		n.settleForeignOf(ctx, e, r)
		return nil
	}
	if err := n.reactivateProfiles(ctx, c, e, r, gone); err != nil {
		return fmt.Errorf("%w: %w", errNotInForce, err)
	}
	settled, cancel := context.WithTimeoutCause(ctx, n.o.Settle, fmt.Errorf("not in place after %s", n.o.Settle))
	defer cancel()
	if err := e.waitFor(settled, check); err != nil {
		return fmt.Errorf("%w: %w", errNotInForce, err)
	}
	n.settleForeignOf(ctx, e, r)
	return nil
}

// putSettingsBack makes key files, NetworkManager's memory and what no profile holds agree with the record's side.
func (n *Network) putSettingsBack(ctx context.Context, c *client, r *record) error {
	right, _ := r.sides()
	changed, err := n.putBack(r, right.files)
	if err != nil {
		return fmt.Errorf("restore the profiles: %w", err)
	}
	if changed {
		if err := c.call(ctx, pathSettings, ifaceSettings+".ReloadConnections", nil); err != nil {
			return fmt.Errorf("reload the profiles: %w", err)
		}
	}
	if right.global != nil {
		if err := c.setGlobalDNS(ctx, *right.global); err != nil {
			return fmt.Errorf("set the DNS servers: %w", err)
		}
		if err := n.persistGlobal(); err != nil {
			return err
		}
	}
	if err := n.nodeWide().Restore(ctx, right.node); err != nil {
		return fmt.Errorf("%w: %w", errNotInForce, err)
	}
	return nil
}

// notBack makes the check that names what the record's side is missing.
func (n *Network) notBack(ctx context.Context, c *client, r *record, gone []string) func() ([]string, error) {
	right, wrong := r.sides()
	right.state = withoutGone(right.state, gone)
	return func() ([]string, error) {
		if err := r.raiseBareLinks(); err != nil {
			return nil, err
		}
		if !r.earlier {
			putForeignBack(right.foreign)
		}
		if err := n.setPrimaries(right.primary); err != nil {
			return nil, err
		}
		missing, err := n.findMissing(ctx, c, right, wrong)
		if err != nil || len(missing) > 0 {
			return missing, err
		}
		return c.findIdleEnds(ctx, r)
	}
}

// findIdleEnds names the ends of pairs that are up with the other end, without the profile that they had. NetworkManager's checkpoint
// forgets the end that another one makes.
func (c *client) findIdleEnds(ctx context.Context, r *record) ([]string, error) {
	s, err := c.readSnapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the ends of pairs: %w", err)
	}
	var idle []string
	for _, p := range r.Profiles {
		pr, ok := s.ByUUID(p.UUID)
		d, exists := s.DeviceAt(p.Layer, p.Iface)
		belongs := p.Active
		if r.Phase == phaseCommitted {
			belongs = p.Wanted
		}
		if ok && exists && belongs && d.Active == nil && secondEnd(s, pr) {
			idle = append(idle, fmt.Sprintf("interface %s has no profile in force", p.Iface))
		}
	}
	return idle, nil
}

// settleForeignOf does so for the record's side. What other programs had set in an earlier boot ended with it.
func (n *Network) settleForeignOf(ctx context.Context, e *events, r *record) {
	if right, _ := r.sides(); !r.earlier {
		n.settleForeign(ctx, e, right.foreign)
	}
}

// goBackInPlace gives interfaces that kept their profile its former settings, without taking a link down: the roll-back of
// a checkpoint activates profiles again and with that removes and makes bridges of Open vSwitch, under the feet of
// the programs that use them. It says whether the former network is back; until it is, the checkpoint stays.
func (n *Network) goBackInPlace(ctx context.Context, c *client, r *record) bool {
	devices, err := c.inForce(ctx, r)
	if len(devices) > 0 && err == nil {
		err = n.reapplyFormer(ctx, c, r, devices)
	}
	if err != nil {
		n.o.Log.Info("cannot go back in place; NetworkManager rolls back its checkpoint", "err", err)
	}
	return len(devices) > 0 && err == nil
}

// inForce are the devices of the record, where each has the same profile in force as before the change; else none.
func (c *client) inForce(ctx context.Context, r *record) ([]profile.Device, error) {
	s, err := c.readSnapshot(ctx)
	if err != nil || len(r.NewBridges) > 0 {
		return nil, err
	}
	var out []profile.Device
	for _, p := range r.Profiles {
		d, exists := s.DeviceAt(p.Layer, p.Iface)
		same := exists && d.Active != nil && d.Active.UUID == p.UUID && d.State == profile.DeviceActivated
		if !same || !p.Active || !p.Wanted || p.Delete {
			return nil, nil
		}
		out = append(out, d)
	}
	return out, nil
}

func (n *Network) reapplyFormer(ctx context.Context, c *client, r *record, devices []profile.Device) error {
	const patience = goBackTime / 6
	if err := c.extendLease(ctx, r.Lease, n.o.Lease+2*patience); err != nil {
		return err
	}
	if err := n.putSettingsBack(ctx, c, r); err != nil {
		return err
	}
	e := c.subscribeEvents()
	defer e.close()
	for _, d := range devices {
		if err := c.reapplyDevice(ctx, d.Path); err != nil {
			return fmt.Errorf("change %s in place: %w", d.Name, err)
		}
	}
	soon, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not in place after %s", patience))
	defer cancel()
	if err := e.waitFor(soon, n.notBack(ctx, c, r, nil)); err != nil {
		return err
	}
	if err := c.dropLease(ctx, r.Lease); err != nil {
		return err
	}
	n.settleForeignOf(ctx, e, r)
	return nil
}

// reactivateProfiles makes the profiles that should be in force so, from their files.
func (n *Network) reactivateProfiles(ctx context.Context, c *client, e *events, r *record, gone []string) error {
	s, err := c.readSnapshot(ctx)
	if err != nil {
		return fmt.Errorf("activate the former profiles: %w", err)
	}
	forward := r.Phase == phaseCommitted
	for _, p := range inActivationOrder(r.Profiles, s) {
		if forward && !p.Wanted || !forward && !p.Active {
			continue
		}
		pr, ok := s.ByUUID(p.UUID)
		if !ok || slices.Contains(gone, p.Iface) {
			continue // deleted by the change itself, or without its card
		}
		target := noObject
		d, exists := s.DeviceAt(p.Layer, p.Iface)
		if !exists && secondEnd(s, pr) {
			if d, err = n.awaitCard(ctx, c, e, p.Iface); err != nil {
				return fmt.Errorf("activate %s: %w", p.Iface, err)
			}
			exists = true
		}
		if exists {
			target = d.Path
		}
		var active dbus.ObjectPath
		n.o.Log.Info("activating profile", "profile", pr.Settings.ID(), "interface", p.Iface)
		if err := c.call(ctx, pathManager, ifaceManager+".ActivateConnection", []any{pr.Path, target, noObject}, &active); err != nil {
			return fmt.Errorf("activate %s: %w", p.Iface, err)
		}
	}
	return nil
}

// awaitCard waits until NetworkManager has a card that is being made.
func (n *Network) awaitCard(ctx context.Context, c *client, e *events, name string) (d profile.Device, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, n.o.Settle, fmt.Errorf("not in place after %s", n.o.Settle))
	defer cancel()
	err = e.waitFor(ctx, func() ([]string, error) {
		all, err := c.readNamedDevices(ctx, []string{name})
		if err != nil || len(all) == 0 {
			return []string{"there is no interface " + name}, err
		}
		d = all[0]
		return nil, nil
	})
	return d, err
}
