package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Remove implements host.Files. It does not follow links, and it fails at a mount point
// below path instead of emptying what is mounted there.
func (f *Files) Remove(path string) error { return f.removeTree(path, remover{}) }

// RemoveForced is Remove that takes the immutable and the append-only flag (chattr +i, +a) off what has it: for trees that are to
// go as a whole, whatever is protected in them.
func (f *Files) RemoveForced(path string) error { return f.removeTree(path, remover{force: true}) }

func (f *Files) removeTree(path string, r remover) error {
	dir, name, err := f.openParent(path, false, false)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := r.removeAt(dir, name); err != nil {
		return pathError("remove", path, err)
	}
	if err := syncFolder(dir); err != nil {
		return pathError("sync the folder of", path, err)
	}
	return nil
}

// remover removes trees; force also what flags protect.
type remover struct{ force bool }

// removeAt removes a file or a tree; nothing there counts as removed.
func (r remover) removeAt(dir int, name string) error {
	err := r.unlinkAt(dir, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := r.emptyAt(dir, name); err != nil {
		return err
	}
	if err := r.unlinkAt(dir, name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// unlinkAt removes one name; by force with a second try once the flags are off, of the name and of its folder.
func (r remover) unlinkAt(dir int, name string, how int) error {
	err := unix.Unlinkat(dir, name, how)
	if !r.force || !errors.Is(err, unix.EPERM) {
		return err
	}
	_ = clearFlags(dir, immutableFlag|appendFlag) // the second try tells
	if fd, opened := openIn(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW,
		unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_XDEV); opened == nil {
		_ = clearFlags(fd, immutableFlag|appendFlag)
		unix.Close(fd)
	}
	return unix.Unlinkat(dir, name, how)
}

// emptyAt removes everything in a folder of the same mount.
func (r remover) emptyAt(dir int, name string) error {
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
		if err := r.removeAt(fd, n); err != nil {
			return fmt.Errorf("%s/%w", name, err)
		}
	}
	return nil
}
