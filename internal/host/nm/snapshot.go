package nm

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
	"github.com/vishvananda/netlink"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// Flags of a profile.
const (
	flagGenerated = 0x2
	flagVolatile  = 0x4
	flagExternal  = 0x8
)

func (c *client) readSnapshot(ctx context.Context) (*profile.Snapshot, error) {
	s := &profile.Snapshot{}
	var err error
	if s.Devices, err = c.readDevices(ctx); err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	if s.Profiles, err = c.readProfiles(ctx); err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	if s.Global, err = c.globalDNS(ctx); err != nil {
		return nil, fmt.Errorf("read the global DNS configuration: %w", err)
	}
	return s, nil
}

// quickSnapshot reads in full what concerns the named interfaces; the rest it takes from files of NetworkManager: its state of
// the devices and the key files. Asking NetworkManager for hundreds of devices and profiles takes most of a second.
// Where the files do not tell, it asks.
func (n *Network) quickSnapshot(ctx context.Context, c *client, k *kernel.State, names []string) (*profile.Snapshot, error) {
	light, err := n.lightProfiles()
	if err != nil || len(light) == 0 {
		return c.readSnapshot(ctx)
	}
	var ask []string
	s := &profile.Snapshot{}
	for _, l := range k.Links {
		a := l.Attrs()
		d, known := n.deviceState(a.Index)
		d.Name = a.Name
		if d.Active != nil {
			_, known = light[d.Active.UUID]
		} else if d.State == profile.DeviceActivated {
			known = false // the file names the profile once its activation is complete, and a network may not answer for long
		}
		if !known || slices.Contains(names, a.Name) || d.State == profile.DeviceUnmanaged && a.OperState != netlink.OperUp {
			ask = append(ask, a.Name)
			continue
		}
		s.Devices = append(s.Devices, d)
	}
	if len(ask) > len(k.Links)/2+16 {
		return c.readSnapshot(ctx)
	}
	asked, err := c.readNamedDevices(ctx, ask)
	if err != nil {
		return nil, err
	}
	s.Devices = append(s.Devices, asked...)
	if err := c.readInFull(ctx, light, asked, names); err != nil {
		return nil, err
	}
	for _, p := range light {
		s.Profiles = append(s.Profiles, p)
	}
	slices.SortFunc(s.Profiles, func(a, b profile.Profile) int { return strings.Compare(a.Settings.UUID(), b.Settings.UUID()) })
	slices.SortFunc(s.Devices, func(a, b profile.Device) int { return strings.Compare(a.Name, b.Name) })
	if s.Global, err = c.globalDNS(ctx); err != nil {
		return nil, fmt.Errorf("read the global DNS configuration: %w", err)
	}
	return s, nil
}

// deviceDir holds NetworkManager's own state of each device, by interface index. It reads it after a restart.
const deviceDir = "/run/NetworkManager/devices"

// deviceState reads what NetworkManager noted of a device; false where it noted nothing.
func (n *Network) deviceState(index int) (profile.Device, bool) {
	text, err := n.o.Files.Read(filepath.Join(deviceDir, strconv.Itoa(index)))
	if err != nil {
		return profile.Device{}, false
	}
	d := profile.Device{State: profile.DeviceUnmanaged}
	for line := range strings.Lines(string(text)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "managed":
			if value == "true" {
				d.State = profile.DeviceActivated
			}
		case "connection-uuid":
			d.Active = &profile.Active{UUID: value}
		}
	}
	return d, true
}

// lightProfiles reads the key files, those in memory first, by UUID.
func (n *Network) lightProfiles() (map[string]profile.Profile, error) {
	out := map[string]profile.Profile{}
	persistent, err := n.keyfileDir()
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{volatileDir, persistent, packagedDir} {
		names, err := n.o.Files.List(dir)
		if err != nil {
			return nil, fmt.Errorf("list profiles: %w", err)
		}
		for _, name := range names {
			if !strings.HasSuffix(name, ".nmconnection") && strings.Contains(name, ".") {
				continue
			}
			path := filepath.Join(dir, name)
			text, err := n.o.Files.Read(path)
			if err != nil {
				continue // a folder, or gone meanwhile
			}
			p, ok := profile.FromKeyfile(string(text))
			if _, shadowed := out[p.Settings.UUID()]; ok && !shadowed {
				p.File = path
				out[p.Settings.UUID()] = p
			}
		}
	}
	return out, nil
}

// readNamedDevices reads the devices of these names; a link that NetworkManager does not know has none.
func (c *client) readNamedDevices(ctx context.Context, names []string) ([]profile.Device, error) {
	paths := make([]dbus.ObjectPath, len(names))
	for i, name := range names { // a few, and cheap
		err := c.call(ctx, pathManager, ifaceManager+".GetDeviceByIpIface", []any{name}, &paths[i])
		if err != nil && !isError(err, busName+".UnknownDevice") && !isGone(err) {
			return nil, err
		}
	}
	paths = slices.DeleteFunc(paths, func(p dbus.ObjectPath) bool { return p == "" })
	return readEach(paths, func(p dbus.ObjectPath) (profile.Device, error) { return c.readDevice(ctx, p) })
}

// readInFull reads the profiles that the asked devices have active, and those for the named interfaces.
func (c *client) readInFull(ctx context.Context, all map[string]profile.Profile, asked []profile.Device, names []string) error {
	var uuids []string
	for _, d := range asked {
		if d.Active != nil {
			uuids = profile.AppendNew(uuids, []string{d.Active.UUID})
		}
	}
	for uuid, p := range all {
		if slices.Contains(names, p.Settings.Iface()) || p.Settings.Iface() == "" {
			uuids = profile.AppendNew(uuids, []string{uuid})
		}
	}
	for _, uuid := range uuids {
		var path dbus.ObjectPath
		err := c.call(ctx, pathSettings, ifaceSettings+".GetConnectionByUuid", []any{uuid}, &path)
		if err == nil {
			var p profile.Profile
			if p, err = c.readProfile(ctx, path); err == nil {
				all[uuid] = p
				continue
			}
		}
		if !isGone(err) && !isError(err, busName+".Settings.InvalidConnection") {
			return err
		}
		delete(all, uuid) // a file that NetworkManager has not loaded
	}
	return nil
}

func (c *client) readDevices(ctx context.Context) ([]profile.Device, error) {
	var paths []dbus.ObjectPath
	if err := c.call(ctx, pathManager, ifaceManager+".GetAllDevices", nil, &paths); err != nil {
		return nil, err
	}
	return readEach(paths, func(p dbus.ObjectPath) (profile.Device, error) { return c.readDevice(ctx, p) })
}

// readEach reads many objects with several questions under way at once; objects that are gone
// meanwhile are left out, the order is kept.
func readEach[T any](paths []dbus.ObjectPath, read func(dbus.ObjectPath) (T, error)) ([]T, error) {
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
		if err != nil && !isGone(err) {
			return nil, err
		}
		if err == nil {
			out = append(out, results[i])
		}
	}
	return out, nil
}

func (c *client) readDevice(ctx context.Context, path dbus.ObjectPath) (profile.Device, error) {
	p, err := c.readProperties(ctx, path, ifaceDevice)
	if err != nil {
		return profile.Device{}, err
	}
	d := profile.Device{
		Path: path, Name: profile.Get[string](p, "Interface"),
		Kind: profile.Get[uint32](p, "DeviceType"), State: profile.Get[uint32](p, "State"),
	}
	if a := profile.Get[dbus.ObjectPath](p, "ActiveConnection"); a != "" && a != noObject {
		d.Active, err = c.readActive(ctx, a)
	}
	return d, err
}

// readActive reads an active connection; nil where it has ended meanwhile.
func (c *client) readActive(ctx context.Context, path dbus.ObjectPath) (*profile.Active, error) {
	p, err := c.readProperties(ctx, path, ifaceActive)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &profile.Active{Path: path, Profile: profile.Get[dbus.ObjectPath](p, "Connection"), UUID: profile.Get[string](p, "Uuid")}, nil
}

func (c *client) readProfiles(ctx context.Context) ([]profile.Profile, error) {
	var paths []dbus.ObjectPath
	if err := c.call(ctx, pathSettings, ifaceSettings+".ListConnections", nil, &paths); err != nil {
		return nil, err
	}
	return readEach(paths, func(p dbus.ObjectPath) (profile.Profile, error) { return c.readProfile(ctx, p) })
}

func (c *client) readProfile(ctx context.Context, path dbus.ObjectPath) (profile.Profile, error) {
	pr := profile.Profile{Path: path}
	if err := c.call(ctx, path, ifaceProfile+".GetSettings", nil, &pr.Settings); err != nil {
		return pr, err
	}
	if err := c.addSecrets(ctx, path, pr.Settings); err != nil {
		return pr, err
	}
	p, err := c.readProperties(ctx, path, ifaceProfile)
	if err != nil {
		return pr, err
	}
	pr.File = profile.Get[string](p, "Filename")
	pr.Generated = profile.Get[uint32](p, "Flags")&(flagGenerated|flagVolatile|flagExternal) != 0
	return pr, nil
}

// addSecrets adds what GetSettings leaves out. Without it a secret could not be compared, and a new profile would be without it. Those that
// NetworkManager does not have itself, but an agent of a user, stay unknown.
func (c *client) addSecrets(ctx context.Context, path dbus.ObjectPath, s profile.Settings) error {
	for setting := range s {
		if !keys.HasSecrets(setting) {
			continue
		}
		var secrets profile.Settings
		err := c.call(ctx, path, ifaceProfile+".GetSecrets", []any{setting}, &secrets)
		if isGone(err) {
			return err
		}
		if err != nil {
			continue
		}
		for key, value := range secrets[setting] {
			s[setting][key] = value
		}
	}
	return nil
}
