package nm

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/godbus/dbus/v5"
)

// Device states of NetworkManager that matter here.
const (
	deviceUnmanaged   = 10
	deviceUnavailable = 20
	deviceActivated   = 100
)

// Device types of NetworkManager that matter here.
const (
	deviceOVSInterface = 24
	deviceOVSPort      = 25
	deviceOVSBridge    = 26
)

// device is a network interface as NetworkManager sees it.
type device struct {
	path   dbus.ObjectPath
	name   string
	kind   uint32
	state  uint32
	active *active // nil where no profile is active on it
}

// active is a profile being active on a device.
type active struct {
	path    dbus.ObjectPath
	profile dbus.ObjectPath
	uuid    string
}

// profile is one of NetworkManager's profiles.
type profile struct {
	path     dbus.ObjectPath
	settings settings
	file     string
	// generated marks what NetworkManager made up for a device somebody else configured.
	generated bool
}

// Flags of a profile.
const (
	flagGenerated = 0x2
	flagVolatile  = 0x4
	flagExternal  = 0x8
)

// snapshot is what NetworkManager knows at one moment.
type snapshot struct {
	devices  []device
	profiles []profile
	global   globalDNS
}

func (c *client) snapshot(ctx context.Context) (*snapshot, error) {
	s := &snapshot{}
	var err error
	if s.devices, err = c.devices(ctx); err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	if s.profiles, err = c.profiles(ctx); err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	if s.global, err = c.globalDNS(ctx); err != nil {
		return nil, fmt.Errorf("read the global DNS configuration: %w", err)
	}
	return s, nil
}

func (c *client) devices(ctx context.Context) ([]device, error) {
	var paths []dbus.ObjectPath
	if err := c.call(ctx, pathManager, ifaceManager+".GetAllDevices", nil, &paths); err != nil {
		return nil, err
	}
	return each(paths, func(p dbus.ObjectPath) (device, error) { return c.device(ctx, p) })
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

func (c *client) device(ctx context.Context, path dbus.ObjectPath) (device, error) {
	p, err := c.properties(ctx, path, ifaceDevice)
	if err != nil {
		return device{}, err
	}
	d := device{path: path, name: get[string](p, "Interface"), kind: get[uint32](p, "DeviceType"), state: get[uint32](p, "State")}
	if a := get[dbus.ObjectPath](p, "ActiveConnection"); a != "" && a != noObject {
		d.active, err = c.active(ctx, a)
	}
	return d, err
}

// active reads an active connection; nil where it has ended meanwhile.
func (c *client) active(ctx context.Context, path dbus.ObjectPath) (*active, error) {
	p, err := c.properties(ctx, path, ifaceActive)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &active{path: path, profile: get[dbus.ObjectPath](p, "Connection"), uuid: get[string](p, "Uuid")}, nil
}

func (c *client) profiles(ctx context.Context) ([]profile, error) {
	var paths []dbus.ObjectPath
	if err := c.call(ctx, pathSettings, ifaceSettings+".ListConnections", nil, &paths); err != nil {
		return nil, err
	}
	return each(paths, func(p dbus.ObjectPath) (profile, error) { return c.profile(ctx, p) })
}

func (c *client) profile(ctx context.Context, path dbus.ObjectPath) (profile, error) {
	pr := profile{path: path}
	if err := c.call(ctx, path, ifaceProfile+".GetSettings", nil, &pr.settings); err != nil {
		return pr, err
	}
	p, err := c.properties(ctx, path, ifaceProfile)
	if err != nil {
		return pr, err
	}
	pr.file = get[string](p, "Filename")
	pr.generated = get[uint32](p, "Flags")&(flagGenerated|flagVolatile|flagExternal) != 0
	return pr, nil
}

// device finds the device that carries addresses under the name: an OVS bridge and
// its port share the name of the internal interface.
func (s *snapshot) device(name string) (device, bool) {
	for _, d := range s.devices {
		if d.name == name && d.kind != deviceOVSBridge && d.kind != deviceOVSPort {
			return d, true
		}
	}
	return device{}, false
}

func (s *snapshot) byUUID(uuid string) (profile, bool) {
	i := slices.IndexFunc(s.profiles, func(p profile) bool { return p.settings.uuid() == uuid })
	if i < 0 {
		return profile{}, false
	}
	return s.profiles[i], true
}

// activeOn is the profile active on the device of that name, generated ones left out.
func (s *snapshot) activeOn(name string) (profile, bool) {
	d, ok := s.device(name)
	if !ok || d.active == nil {
		return profile{}, false
	}
	p, ok := s.byUUID(d.active.uuid)
	return p, ok && !p.generated
}
