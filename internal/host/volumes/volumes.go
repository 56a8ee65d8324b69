package volumes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Options say where the devices are.
type Options struct {
	// Sys and Dev are /sys and /dev.
	Sys, Dev string
	// Run is a folder for mount points, private to root.
	Run string
	Log *slog.Logger
}

// Volumes implements host.Volumes.
type Volumes struct {
	options Options
	signs   signs
}

// New needs nothing of the machine yet.
func New(o Options) *Volumes {
	return &Volumes{options: Options{
		Sys: cmp.Or(o.Sys, "/sys"), Dev: cmp.Or(o.Dev, "/dev"), Run: cmp.Or(o.Run, "/run/lca"), Log: o.Log,
	}}
}

// notMedia are devices that nobody plugs in.
func notMedia(name string) bool {
	for _, prefix := range []string{"ram", "zram", "dm-", "md"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// List implements host.Volumes.
func (v *Volumes) List(ctx context.Context) ([]host.Volume, error) {
	v.signs.openSocket(v.options.Log)
	folder := filepath.Join(v.options.Sys, "class/block")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("list block devices: %w", err)
	}
	var out []host.Volume
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if notMedia(e.Name()) || firstLine(filepath.Join(folder, e.Name(), "size")) == "0" {
			continue
		}
		volume, err := v.probeDevice(ctx, e.Name())
		switch {
		case err != nil:
			v.options.Log.Debug("block device left out", "device", e.Name(), "error", err)
		case volume.Label != "":
			out = append(out, volume)
		}
	}
	slices.SortFunc(out, func(a, b host.Volume) int { return cmp.Compare(a.Device, b.Device) })
	return out, nil
}

func (v *Volumes) probeDevice(ctx context.Context, name string) (host.Volume, error) {
	d, err := v.openDevice(name)
	if err != nil {
		return host.Volume{}, err
	}
	defer d.Close()
	kind, label, err := identifyFilesystem(ctx, d)
	if err != nil {
		return host.Volume{}, err
	}
	disk := v.diskOf(name)
	model := firstLine(filepath.Join(v.options.Sys, "class/block", disk, "device/model"))
	return host.Volume{
		Device: filepath.Join(v.options.Dev, name), Disk: disk, Label: printableText(label), Filesystem: kind, Model: printableText(model),
	}, nil
}

// diskOf is the folder that sysfs has a partition in.
func (v *Volumes) diskOf(name string) string {
	entry := filepath.Join(v.options.Sys, "class/block", name)
	if _, err := os.Stat(filepath.Join(entry, "partition")); err != nil {
		return name
	}
	real, err := filepath.EvalSymlinks(entry)
	if err != nil {
		return name
	}
	return filepath.Base(filepath.Dir(real))
}

// Open implements host.Volumes.
func (v *Volumes) Open(ctx context.Context, volume host.Volume) (host.VolumeFiles, error) {
	name := filepath.Base(volume.Device)
	if volume.Filesystem == kindExt {
		return v.mountExt(volume)
	}
	d, err := v.openDevice(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", volume.Device, err)
	}
	tree, err := readTree(ctx, d, volume)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s (%s): %w", volume.Device, volume.Filesystem, err), d.Close())
	}
	return tree, nil
}

func readTree(ctx context.Context, d *device, volume host.Volume) (*tree, error) {
	kind, label, err := identifyFilesystem(ctx, d)
	if err != nil {
		return nil, err
	}
	if kind != volume.Filesystem || printableText(label) != volume.Label {
		return nil, fmt.Errorf("%w: another one is in its place", host.ErrVolumeGone)
	}
	var root *node
	switch kind {
	case kindFAT:
		root, err = readFAT(ctx, d)
	case kindExFAT:
		root, err = readExFAT(ctx, d)
	case kindISO:
		root, err = readISO(ctx, d)
	}
	return &tree{root: root, closer: d}, err
}

// device is an open block device.
type device struct {
	file *os.File
	gone func() bool
}

func (v *Volumes) openDevice(name string) (*device, error) {
	entry := filepath.Join(v.options.Sys, "class/block", name)
	gone := func() bool {
		_, err := os.Stat(entry)
		return err != nil || firstLine(filepath.Join(entry, "size")) == "0"
	}
	file, err := os.OpenFile(filepath.Join(v.options.Dev, name), os.O_RDONLY, 0)
	if err != nil {
		if gone() {
			return nil, fmt.Errorf("%w: %w", host.ErrVolumeGone, err)
		}
		return nil, fmt.Errorf("open the device: %w", err)
	}
	return &device{file, gone}, nil
}

// ReadAt fills p or fails. An error of a device that has gone matches host.ErrVolumeGone.
func (d *device) ReadAt(p []byte, at int64) (int, error) {
	n, err := d.file.ReadAt(p, at)
	if n == len(p) {
		return n, nil
	}
	if d.gone() {
		return n, fmt.Errorf("%w: %w", host.ErrVolumeGone, err)
	}
	if errors.Is(err, io.EOF) {
		return n, fmt.Errorf("the volume is cut off: it ends before byte %d: %w", at+int64(len(p)), io.ErrUnexpectedEOF)
	}
	return n, fmt.Errorf("read the device: %w", err)
}

func (d *device) Close() error { return d.file.Close() }

func firstLine(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}

// printableText is a text of a device without what would change a terminal.
func printableText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd || r > 0xffff {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}
