package nm

import (
	"context"
	"fmt"
	"sync"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
)

// Flags of a profile.
const (
	flagGenerated = 0x2
	flagVolatile  = 0x4
	flagExternal  = 0x8
)

func (c *client) snapshot(ctx context.Context) (*profile.Snapshot, error) {
	s := &profile.Snapshot{}
	var err error
	if s.Devices, err = c.devices(ctx); err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	if s.Profiles, err = c.profiles(ctx); err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	if s.Global, err = c.globalDNS(ctx); err != nil {
		return nil, fmt.Errorf("read the global DNS configuration: %w", err)
	}
	return s, nil
}

func (c *client) devices(ctx context.Context) ([]profile.Device, error) {
	var paths []dbus.ObjectPath
	if err := c.call(ctx, pathManager, ifaceManager+".GetAllDevices", nil, &paths); err != nil {
		return nil, err
	}
	return each(paths, func(p dbus.ObjectPath) (profile.Device, error) { return c.device(ctx, p) })
}

// each reads many objects with several questions under way at once; objects that are gone
// meanwhile are left out, the order is kept.
func each[T any](paths []dbus.ObjectPath, read func(dbus.ObjectPath) (T, error)) ([]T, error) {
	const atOnce = 16 // a bus may limit the answers a connection waits for to 128
	results, errs := make([]T, len(paths)), make([]error, len(paths))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, p := range paths {
		slots <- struct{}{}
		wg.Go(func() {
			results[i], errs[i] = read(p)
			<-slots
		})
	}
	wg.Wait()
	var out []T
	for i, err := range errs {
		if err != nil && !gone(err) {
			return nil, err
		}
		if err == nil {
			out = append(out, results[i])
		}
	}
	return out, nil
}

func (c *client) device(ctx context.Context, path dbus.ObjectPath) (profile.Device, error) {
	p, err := c.properties(ctx, path, ifaceDevice)
	if err != nil {
		return profile.Device{}, err
	}
	d := profile.Device{
		Path: path, Name: profile.Get[string](p, "Interface"),
		Kind: profile.Get[uint32](p, "DeviceType"), State: profile.Get[uint32](p, "State"),
	}
	if a := profile.Get[dbus.ObjectPath](p, "ActiveConnection"); a != "" && a != noObject {
		d.Active, err = c.active(ctx, a)
	}
	return d, err
}

// active reads an active connection; nil where it has ended meanwhile.
func (c *client) active(ctx context.Context, path dbus.ObjectPath) (*profile.Active, error) {
	p, err := c.properties(ctx, path, ifaceActive)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &profile.Active{Path: path, Profile: profile.Get[dbus.ObjectPath](p, "Connection"), UUID: profile.Get[string](p, "Uuid")}, nil
}

func (c *client) profiles(ctx context.Context) ([]profile.Profile, error) {
	var paths []dbus.ObjectPath
	if err := c.call(ctx, pathSettings, ifaceSettings+".ListConnections", nil, &paths); err != nil {
		return nil, err
	}
	return each(paths, func(p dbus.ObjectPath) (profile.Profile, error) { return c.profile(ctx, p) })
}

func (c *client) profile(ctx context.Context, path dbus.ObjectPath) (profile.Profile, error) {
	pr := profile.Profile{Path: path}
	if err := c.call(ctx, path, ifaceProfile+".GetSettings", nil, &pr.Settings); err != nil {
		return pr, err
	}
	p, err := c.properties(ctx, path, ifaceProfile)
	if err != nil {
		return pr, err
	}
	pr.File = profile.Get[string](p, "Filename")
	pr.Generated = profile.Get[uint32](p, "Flags")&(flagGenerated|flagVolatile|flagExternal) != 0
	return pr, nil
}
