package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Remove implements host.Files. It does not follow links, and it fails at a mount point
// below path instead of emptying what is mounted there.
func (f *Files) Remove(path string) error {
	dir, name, err := f.openParent(path, false, false)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := removeAt(dir, name); err != nil {
		return pathError("remove", path, err)
	}
	if err := syncFolder(dir); err != nil {
		return pathError("sync the folder of", path, err)
	}
	return nil
}

// removeAt removes a file or a tree; nothing there counts as removed.
func removeAt(dir int, name string) error {
	err := unix.Unlinkat(dir, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := emptyAt(dir, name); err != nil {
		return err
	}
	if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// emptyAt removes everything in a folder of the same mount.
func emptyAt(dir int, name string) error {
	fd, err := openIn(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW,
		unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_XDEV)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.EXDEV):
		return fmt.Errorf("%s is a mount point: %w", name, unix.EBUSY)
	case errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("%s: %w", name, unix.EPERM)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	folder := os.NewFile(uintptr(fd), name)
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("list %s: %w", name, err)
	}
	for _, n := range names {
		if err := removeAt(fd, n); err != nil {
			return fmt.Errorf("%s/%w", name, err)
		}
	}
	return nil
}
