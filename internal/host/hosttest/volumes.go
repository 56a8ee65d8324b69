package hosttest

import (
	"cmp"
	"context"
	"fmt"

	"io/fs"
	"slices"
	"sync"
	"testing/fstest"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Volumes is a host.Volumes in memory. The zero value has no volume.
type Volumes struct {
	mu      sync.Mutex
	plugged map[string]stick
	changed chan struct{}
	// pullAfter counts down with each read; at zero all devices go.
	pullAfter int
}

type stick struct {
	volume host.Volume
	files  fstest.MapFS
}

// Plug connects a device; its files can be changed until it is opened.
func (v *Volumes) Plug(volume host.Volume, files fstest.MapFS) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.plugged == nil {
		v.plugged = map[string]stick{}
	}
	v.plugged[volume.Device] = stick{volume, files}
	v.signal()
}

// Unplug removes a device, also one that is being read.
func (v *Volumes) Unplug(device string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.plugged, device)
	v.signal()
}

// UnplugAllAfter removes every device at the n-th read from now.
func (v *Volumes) UnplugAllAfter(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pullAfter = n
}

func (v *Volumes) signal() {
	select {
	case v.signs() <- struct{}{}:
	default:
	}
}

// signs needs the lock.
func (v *Volumes) signs() chan struct{} {
	if v.changed == nil {
		v.changed = make(chan struct{}, 1)
	}
	return v.changed
}

// List implements host.Volumes.
func (v *Volumes) List(ctx context.Context) ([]host.Volume, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []host.Volume
	for _, s := range v.plugged {
		out = append(out, s.volume)
	}
	slices.SortFunc(out, func(a, b host.Volume) int { return cmp.Compare(a.Device, b.Device) })
	return out, ctx.Err()
}

// Open implements host.Volumes.
func (v *Volumes) Open(_ context.Context, volume host.Volume) (host.VolumeFiles, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.plugged[volume.Device]
	if !ok {
		return nil, fmt.Errorf("open %s: %w", volume.Device, host.ErrVolumeGone)
	}
	return stickFiles{v, volume.Device, s.files}, nil
}

// Await implements host.Volumes: it waits for a sign.
func (v *Volumes) Await(ctx context.Context) error {
	v.mu.Lock()
	signs := v.signs()
	v.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-signs:
		return nil
	}
}

type stickFiles struct {
	v      *Volumes
	device string
	files  fstest.MapFS
}

// gone counts a read.
func (f stickFiles) gone() error {
	f.v.mu.Lock()
	defer f.v.mu.Unlock()
	if f.v.pullAfter > 0 {
		if f.v.pullAfter--; f.v.pullAfter == 0 {
			clear(f.v.plugged)
			f.v.signal()
		}
	}
	if _, ok := f.v.plugged[f.device]; !ok {
		return fmt.Errorf("read %s: %w", f.device, host.ErrVolumeGone)
	}
	return nil
}

func (f stickFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.gone(); err != nil {
		return nil, err
	}
	return fs.ReadDir(f.files, name)
}

func (f stickFiles) Open(name string) (fs.File, error) {
	if err := f.gone(); err != nil {
		return nil, err
	}
	info, err := fs.Lstat(f.files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, err := f.files.Open(name)
	return stickFile{file, f}, err
}

func (f stickFiles) Close() error { return nil }

type stickFile struct {
	fs.File
	of stickFiles
}

func (f stickFile) Read(p []byte) (int, error) {
	if err := f.of.gone(); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}
