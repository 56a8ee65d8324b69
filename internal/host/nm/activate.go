package nm

import (
	"context"
	"fmt"
	"net"

	"github.com/godbus/dbus/v5"
)

// Flags of AddConnection2 and Update2.
const (
	inMemory         uint32 = 0x02
	blockAutoconnect uint32 = 0x20
)

// bring puts one change into effect in memory; nothing of it survives a reboot.
func (t *transaction) bring(ctx context.Context, c *change) error {
	path, err := t.write(ctx, c)
	if err != nil {
		return fmt.Errorf("profile of %s: %w", c.iface, err)
	}
	if c.action != actUp {
		return t.takeDown(ctx, c)
	}
	if err := t.activate(ctx, c, path); err != nil {
		return fmt.Errorf("activate %s: %w", c.iface, err)
	}
	return nil
}

// write stores the profile in NetworkManager's memory and returns its path.
func (t *transaction) write(ctx context.Context, c *change) (dbus.ObjectPath, error) {
	var path dbus.ObjectPath
	var ignored map[string]dbus.Variant
	none := map[string]dbus.Variant{}
	if c.before == nil {
		args := []any{c.after, inMemory | blockAutoconnect, none}
		err := t.c.call(ctx, pathSettings, ifaceSettings+".AddConnection2", args, &path, &ignored)
		return path, err
	}
	if !c.edited() {
		return c.before.path, nil
	}
	args := []any{c.after, inMemory | blockAutoconnect, none}
	return c.before.path, t.c.call(ctx, c.before.path, ifaceProfile+".Update2", args, &ignored)
}

// activate makes the profile the one in force. Where it is so already, addresses and routes
// are changed in place, without the link going down.
func (t *transaction) activate(ctx context.Context, c *change, path dbus.ObjectPath) error {
	d, exists := t.snap.device(c.iface)
	if exists && d.active != nil && d.active.uuid == c.uuid && d.state == deviceActivated && !c.fresh {
		err := t.reapply(ctx, d.path)
		if err == nil {
			t.activating[c.iface] = d.active.path
			return nil
		}
		t.log.Info("cannot change the interface in place, activating its profile anew", "interface", c.iface, "err", err)
	}
	if c.fresh && exists && d.active != nil && c.after.kind() == typeVLAN {
		if err := t.removeLink(ctx, d); err != nil {
			return err
		}
		exists = false
	}
	target := noObject
	if exists {
		target = d.path
	}
	var active dbus.ObjectPath
	err := t.c.call(ctx, pathManager, ifaceManager+".ActivateConnection", []any{path, target, noObject}, &active)
	if err == nil {
		t.activating[c.iface] = active
	}
	return err
}

func (t *transaction) reapply(ctx context.Context, dev dbus.ObjectPath) error {
	return t.c.call(ctx, dev, ifaceDevice+".Reapply", []any{settings{}, uint64(0), uint32(0)})
}

// takeDown ends the profile on its device; what only the profile made goes with it.
func (t *transaction) takeDown(ctx context.Context, c *change) error {
	d, ok := t.snap.device(c.iface)
	if !ok || d.active == nil || d.active.uuid != c.uuid {
		return nil
	}
	err := t.c.call(ctx, d.path, ifaceDevice+".Disconnect", nil)
	if err != nil && !gone(err) && !isError(err, busName+".Device.NotActive") {
		return fmt.Errorf("take %s down: %w", c.iface, err)
	}
	return nil
}

// removeLink deletes a virtual link and waits until it is gone.
func (t *transaction) removeLink(ctx context.Context, d device) error {
	if err := t.c.call(ctx, d.path, ifaceDevice+".Delete", nil); err != nil && !gone(err) {
		return err
	}
	return t.wait(ctx, func() ([]string, error) {
		if _, err := net.InterfaceByName(d.name); err == nil {
			return []string{d.name + " is still there"}, nil
		}
		return nil, nil
	})
}
