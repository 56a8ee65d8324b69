package nm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/plan"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Flags of AddConnection2 and Update2.
const (
	inMemory         uint32 = 0x02
	blockAutoconnect uint32 = 0x20
)

// applyChange puts one change into effect in memory; nothing of it survives a reboot.
func (t *transaction) applyChange(ctx context.Context, c *plan.Change) error {
	path, err := t.writeProfile(ctx, c)
	if err != nil {
		return fmt.Errorf("profile of %s: %w", c.Iface, err)
	}
	if c.Action != plan.ActUp {
		return t.takeDown(ctx, c)
	}
	if c.MarkOnly() {
		return nil
	}
	if err := t.activateProfile(ctx, c, path); err != nil {
		return fmt.Errorf("activate %s: %w", c.Iface, err)
	}
	return nil
}

// writeLeavingProfiles writes the profiles of what leaves Open vSwitch, and of pairs that go, before anything is taken down: NetworkManager
// would activate them again, and with them the ports and the bridge above, or make the pair anew for its other end.
func (t *transaction) writeLeavingProfiles(ctx context.Context) error {
	for _, c := range t.changes {
		if !c.LeavesSwitch() && (c.Action != plan.ActRemove || c.After.Kind() != profile.TypeVeth) {
			continue
		}
		if _, err := t.writeProfile(ctx, c); err != nil {
			return fmt.Errorf("profile of %s: %w", c.Iface, err)
		}
	}
	return nil
}

// writeProfile stores the profile in NetworkManager's memory and returns its path.
func (t *transaction) writeProfile(ctx context.Context, c *plan.Change) (dbus.ObjectPath, error) {
	var path dbus.ObjectPath
	var ignored map[string]dbus.Variant
	none := map[string]dbus.Variant{}
	if c.Before == nil {
		args := []any{c.After, inMemory | blockAutoconnect, none}
		err := t.c.call(ctx, pathSettings, ifaceSettings+".AddConnection2", args, &path, &ignored)
		return path, err
	}
	if !c.Edited() {
		return c.Before.Path, nil
	}
	args := []any{c.After, inMemory | blockAutoconnect, none}
	return c.Before.Path, t.c.call(ctx, c.Before.Path, ifaceProfile+".Update2", args, &ignored)
}

// activateProfile makes the profile the one in force. Where it is so already, addresses and routes
// are changed in place, without the link going down.
func (t *transaction) activateProfile(ctx context.Context, c *plan.Change, path dbus.ObjectPath) error {
	d, exists := t.snap.DeviceAt(c.Layer(), c.Iface)
	if exists && d.Active != nil && d.Active.UUID == c.UUID && d.State == profile.DeviceActivated && !c.Fresh {
		err := t.c.reapplyDevice(ctx, d.Path)
		if err == nil {
			t.activating[target{c.Layer(), c.Iface}] = d.Active.Path
			return kernel.RemoveRoutes(c.Iface, lostRoutes(c))
		}
		t.log.Info("cannot change the interface in place; activating its profile again", "interface", c.Iface, "err", err)
	}
	if c.Recreate && exists {
		if err := t.removeLink(ctx, d); err != nil {
			return fmt.Errorf("recreate %s: %w", c.Iface, err)
		}
		exists = false
	}
	device := noObject
	if exists {
		device = d.Path
	}
	err := t.requestActivation(ctx, c, path, device)
	if device != noObject && (isGone(err) || isError(err, busName+".UnknownDevice")) {
		return t.requestActivation(ctx, c, path, noObject) // the link went away with another one, and is made anew
	}
	if err != nil && !t.hadLink(c) {
		return t.upOnceManaged(ctx, c, path, err)
	}
	return err
}

// lostRoutes are those of tables of their own that a profile no longer has: of these, NetworkManager 1.42 leaves IPv4 routes behind
// when it changes a device in place.
func lostRoutes(c *plan.Change) (out []netstate.Route) {
	if c.Before == nil {
		return nil
	}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		had, _ := profile.ProfileRoutes(c.Before.Settings, c.Iface, f)
		has, _ := profile.ProfileRoutes(c.After, c.Iface, f)
		for _, r := range had {
			same := func(o netstate.Route) bool { return netstate.SameRoute(o, r) }
			if r.Table() != netstate.MainTable && !slices.ContainsFunc(has, same) {
				out = append(out, r)
			}
		}
	}
	return out
}

// hadLink says that the link of a change was there before the transaction.
func (t *transaction) hadLink(c *plan.Change) bool {
	_, exists := t.now.Find(c.Iface, "")
	return exists
}

// upOnceManaged activates a profile on a link that has just been made: NetworkManager leaves it alone until udev has seen it.
func (t *transaction) upOnceManaged(ctx context.Context, c *plan.Change, path dbus.ObjectPath, failure error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, min(carrierTime, t.n.o.Settle), errNotReady)
	defer cancel()
	err := t.events.waitFor(ctx, func() ([]string, error) {
		s, err := t.c.readSnapshot(ctx)
		if err != nil {
			return nil, err
		}
		d, exists := s.DeviceAt(c.Layer(), c.Iface)
		if exists && d.State != profile.DeviceUnmanaged || !exists && c.After.Kind() != profile.TypeEthernet {
			return nil, failure
		}
		if exists {
			failure = t.requestActivation(ctx, c, path, d.Path)
		}
		if failure == nil {
			return nil, nil
		}
		return []string{failure.Error()}, nil
	})
	if errors.Is(err, errNotReady) {
		return failure
	}
	return err
}

// maxActivations is how often a port that moves is activated: its former controller, which lets it go at some time, may end
// an activation under the new one.
const maxActivations = 4

// activationEnded says whether to wait for another activation of the same profile: one that NetworkManager began by itself, as
// it does with the ports of a controller, or one of a port that moves, which lost its own to the former controller.
func (t *transaction) activationEnded(ctx context.Context, on target) (again bool, err error) {
	at := slices.IndexFunc(t.changes, func(c *plan.Change) bool {
		return c.Iface == on.iface && c.Layer() == on.layer && c.Action == plan.ActUp
	})
	if at < 0 {
		return false, t.checkDuplicate(on.iface)
	}
	c := t.changes[at]
	s, err := t.c.readSnapshot(ctx)
	if err != nil {
		return false, fmt.Errorf("observe the activation of %s: %w", on.iface, err)
	}
	d, exists := s.DeviceAt(on.layer, on.iface)
	if exists && d.Active != nil && d.Active.UUID == c.UUID && d.Active.Path != t.activating[on] {
		t.activating[on] = d.Active.Path
		return true, nil
	}
	if err := t.checkDuplicate(on.iface); err != nil || !c.Moved || t.activations[on] >= maxActivations {
		return false, err
	}
	device := noObject
	if exists {
		device = d.Path
	}
	t.log.Info("the former controller ended the activation of its port; activating it again", "interface", on.iface)
	return true, t.requestActivation(ctx, c, c.Before.Path, device)
}

// requestActivation asks NetworkManager to activate a profile.
func (t *transaction) requestActivation(ctx context.Context, c *plan.Change, path, device dbus.ObjectPath) error {
	var active dbus.ObjectPath
	err := t.c.call(ctx, pathManager, ifaceManager+".ActivateConnection", []any{path, device, noObject}, &active)
	if err == nil {
		t.activating[target{c.Layer(), c.Iface}] = active
		t.activations[target{c.Layer(), c.Iface}]++
	}
	return err
}

// reapplyDevice has NetworkManager follow the profile in force on a device, in place.
func (c *client) reapplyDevice(ctx context.Context, dev dbus.ObjectPath) error {
	return c.call(ctx, dev, ifaceDevice+".Reapply", []any{profile.Settings{}, uint64(0), uint32(0)})
}

// takeDown ends the profile on its device; a link that NetworkManager can make goes with it.
func (t *transaction) takeDown(ctx context.Context, c *plan.Change) error {
	d, ok := t.snap.DeviceAt(c.Layer(), c.Iface)
	if !ok {
		return nil
	}
	if d.Active != nil && d.Active.UUID == c.UUID {
		err := t.c.call(ctx, d.Path, ifaceDevice+".Disconnect", nil)
		if err != nil && !isGone(err) && !isError(err, busName+".Device.NotActive") {
			return fmt.Errorf("take %s down: %w", c.Iface, err)
		}
	}
	if c.OfSwitch() {
		return t.removeFromSwitch(ctx, c, d)
	}
	if c.Action == plan.ActRemove && t.isVirtual(c) {
		if _, err := net.InterfaceByName(c.Iface); err == nil {
			return t.removeLink(ctx, d)
		}
	}
	return nil
}

// isVirtual says that the link of a change can go. The profile of the second end of a pair may be one for a card.
func (t *transaction) isVirtual(c *plan.Change) bool {
	now, _ := t.now.Find(c.Iface, "")
	switch c.Before.Settings.Kind() {
	case profile.TypeLoopback:
		return false
	case profile.TypeEthernet:
		return now.Type == netstate.TypeVeth
	}
	return true
}

// removeFromSwitch deletes what NetworkManager keeps of a bridge, port or interface of Open vSwitch. The kernel may keep a link
// of that name: the bridge's own.
func (t *transaction) removeFromSwitch(ctx context.Context, c *plan.Change, d profile.Device) error {
	if c.Action != plan.ActRemove {
		return nil
	}
	err := t.c.call(ctx, d.Path, ifaceDevice+".Delete", nil)
	if err != nil && !isGone(err) && !isError(err, busName+".Device.NotSoftware") {
		return fmt.Errorf("delete %s %s: %w", c.After.Kind(), c.Iface, err)
	}
	return nil
}

// removeLink deletes a virtual link and waits until it is gone.
func (t *transaction) removeLink(ctx context.Context, d profile.Device) error {
	err := t.c.call(ctx, d.Path, ifaceDevice+".Delete", nil)
	// NetworkManager may be deleting it already, because its profile ended.
	if err != nil && !isGone(err) && !isError(err, busName+".Device.NotSoftware") {
		return fmt.Errorf("delete link %s: %w", d.Name, err)
	}
	return t.waitBounded(ctx, func() ([]string, error) {
		if _, err := net.InterfaceByName(d.Name); err == nil {
			return []string{d.Name + " is still there"}, nil
		}
		return nil, nil
	})
}

// inActivationOrder puts controllers before ports and cards, and what stands on others last.
func inActivationOrder(all []touched, s *profile.Snapshot) []touched {
	rank := func(p touched) int {
		pr, _ := s.ByUUID(p.UUID)
		switch pr.Settings.Kind() {
		case profile.TypeBond, profile.TypeBridge, profile.TypeVRF, profile.TypeOVSBridge:
			return 0
		case profile.TypeOVSPort:
			return 1
		case profile.TypeVeth:
			return 2 // makes the card that may have a profile of its own
		case profile.TypeVLAN, profile.TypeMACVLAN, profile.TypeVXLAN, profile.TypeMACSec, profile.TypeIPVLAN:
			return 4
		}
		return 3
	}
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b touched) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}
