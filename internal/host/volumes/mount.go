package volumes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// mounted is a volume of ext2, ext3 or ext4.
type mounted struct {
	point string
	root  *os.Root
	gone  func() bool
}

// mountExt needs root. "noload" keeps the driver from replaying the journal, which would write.
func (v *Volumes) mountExt(volume host.Volume) (host.VolumeFiles, error) {
	if err := os.MkdirAll(v.options.Run, 0o700); err != nil {
		return nil, fmt.Errorf("create a mount point: %w", err)
	}
	point, err := os.MkdirTemp(v.options.Run, "volume-")
	if err != nil {
		return nil, fmt.Errorf("create a mount point: %w", err)
	}
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOSYMFOLLOW
	if err := unix.Mount(volume.Device, point, kindExt, flags, "noload"); err != nil {
		return nil, errors.Join(fmt.Errorf("mount %s: %w", volume.Device, err), os.Remove(point))
	}
	m := &mounted{point: point, gone: func() bool {
		_, err := os.Stat(filepath.Join(v.options.Sys, "class/block", filepath.Base(volume.Device)))
		return err != nil
	}}
	if m.root, err = os.OpenRoot(point); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", volume.Device, err), m.unmount())
	}
	return m, nil
}

func (m *mounted) wrapGone(err error) error {
	if err != nil && m.gone() {
		return fmt.Errorf("%w: %w", host.ErrVolumeGone, err)
	}
	return err
}

// Open implements fs.FS.
func (m *mounted) Open(name string) (fs.File, error) {
	info, err := m.root.Lstat(name)
	if err != nil {
		return nil, m.wrapGone(err)
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
	}
	f, err := m.root.FS().Open(name)
	if err != nil {
		return nil, m.wrapGone(err)
	}
	return mountedFile{f, m}, nil
}

// ReadDir implements fs.ReadDirFS.
func (m *mounted) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := m.root.Open(name)
	if err != nil {
		return nil, m.wrapGone(err)
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, m.wrapGone(err)
	}
	if len(entries) > maxEntries {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errTooMany}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Close unmounts, also a device that has gone.
func (m *mounted) Close() error { return errors.Join(m.root.Close(), m.unmount()) }

func (m *mounted) unmount() error {
	if err := unix.Unmount(m.point, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", m.point, err)
	}
	return os.Remove(m.point)
}

type mountedFile struct {
	fs.File
	of *mounted
}

func (f mountedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if err != nil && f.of.gone() {
		err = f.of.wrapGone(err)
	}
	return n, err
}
