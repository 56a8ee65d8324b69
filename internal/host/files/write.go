package files

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// labelAttr is where SELinux keeps a file's label (selinux(8), xattr(7)).
const labelAttr = "security.selinux"

// Write implements host.Files. A link at the end of the path is followed, so that the link stays
// and its target is replaced; owner and SELinux label of the file replaced are kept.
// A new file gets the label the policy gives it.
func (f *Files) Write(path string, data []byte, mode fs.FileMode) error {
	return f.WriteFrom(path, bytes.NewReader(data), mode)
}

// WriteFrom is Write of what from yields.
func (f *Files) WriteFrom(path string, from io.Reader, mode fs.FileMode) error {
	dir, name, err := f.openParent(path, true, true)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	temp := "." + name + ".lca-" + rand.Text()[:8]
	if len(temp) > unix.NAME_MAX {
		temp = ".lca-" + rand.Text()
	}
	fd, err := unix.Openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return pathError("write", path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	err = writeReplacement(file, dir, name, from, mode)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = unix.Renameat(dir, temp, dir, name)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temp, 0)
		return pathError("write", path, stripPathError(err))
	}
	if err := syncFolder(dir); err != nil {
		return pathError("sync the folder of", path, err)
	}
	return nil
}

// writeReplacement writes the contents of a temporary file that is to replace name in dir.
func writeReplacement(file *os.File, dir int, name string, from io.Reader, mode fs.FileMode) error {
	if _, err := io.Copy(file, from); err != nil {
		return err
	}
	if err := copyOwnerAndLabel(file, dir, name); err != nil {
		return err
	}
	if err := file.Chmod(mode); err != nil {
		return err
	}
	return file.Sync()
}

// copyOwnerAndLabel gives the new file the owner and the SELinux label of the one it replaces.
func copyOwnerAndLabel(file *os.File, dir int, name string) error {
	fd := int(file.Fd())
	var was, is unix.Stat_t
	err := unix.Fstatat(dir, name, &was, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the owner of %s: %w", name, err)
	}
	if was.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	if err := unix.Fstat(fd, &is); err != nil {
		return fmt.Errorf("read the owner of the new file: %w", err)
	}
	if was.Uid != is.Uid || was.Gid != is.Gid {
		if err := unix.Fchown(fd, int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("keep the owner: %w", err)
		}
	}
	return keepLabel(fd, dir, name)
}

func keepLabel(fd, dir int, name string) error {
	old, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s for its label: %w", name, err)
	}
	defer unix.Close(old)
	label := make([]byte, 1024)
	n, err := unix.Fgetxattr(old, labelAttr, label)
	if err != nil {
		return nil // no label to keep
	}
	if err := unix.Fsetxattr(fd, labelAttr, label[:n], 0); err != nil {
		return fmt.Errorf("keep the SELinux label: %w", err)
	}
	return nil
}

// Append implements host.Files. A record that did not fit is truncated, so that the file
// never ends in half of it unless the power was cut.
func (f *Files) Append(path string, data []byte, mode fs.FileMode) error {
	dir, name, err := f.openParent(path, true, true)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	const flags = unix.O_WRONLY | unix.O_APPEND | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(dir, name, flags, 0)
	created := errors.Is(err, unix.ENOENT)
	if created {
		fd, err = unix.Openat(dir, name, flags|unix.O_CREAT, uint32(mode.Perm()))
	}
	if err != nil {
		return pathError("append", path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	if err := appendRecord(file, data, mode, created); err != nil {
		return pathError("append", path, stripPathError(err))
	}
	if created {
		if err := syncFolder(dir); err != nil {
			return pathError("sync the folder of", path, err)
		}
	}
	return nil
}

func appendRecord(file *os.File, data []byte, mode fs.FileMode, created bool) error {
	if created {
		if err := file.Chmod(mode); err != nil {
			return err
		}
	}
	before, err := file.Stat()
	if err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		_ = file.Truncate(before.Size())
		return err
	}
	return file.Sync()
}

// stripPathError strips the path that package os put around a system error; pathError names it.
func stripPathError(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// MakeFolder makes a folder, private to root, with those above it. An existing one stays as it is.
func (f *Files) MakeFolder(path string) error {
	root, err := f.openRoot()
	if err != nil {
		return err
	}
	defer unix.Close(root)
	dir, err := openFolder(root, path, true, 0)
	if err != nil {
		return pathError("make folder", path, err)
	}
	return unix.Close(dir)
}
