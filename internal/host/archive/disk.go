package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// disk is a folder that an archive is unpacked into. Every file is reached through the descriptor of its folder, which is
// opened without following a link, and by its last name alone, which is not followed either.
type disk struct {
	top int
	// parent is the folder that was last used, above is its name. An archive lists a folder's files one after the other.
	parent int
	above  string
}

func (d *disk) closeParent() {
	if d.parent >= 0 {
		unix.Close(d.parent)
	}
	d.parent = -1
}

// openParent opens the folder that an entry is in, and makes it where the archive does not list it.
func (d *disk) openParent(name string) (dir int, base string, err error) {
	above, base := path.Dir(name), path.Base(name)
	if d.parent >= 0 && d.above == above {
		return d.parent, base, nil
	}
	fd, err := d.openBeneath(above, unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) {
		var up int
		var last string
		if up, last, err = d.openParent(above); err != nil {
			return -1, "", err
		}
		if err = unix.Mkdirat(up, last, 0o700); err != nil {
			return -1, "", pathError("create", above, err)
		}
		fd, err = d.openBeneath(above, unix.O_PATH|unix.O_DIRECTORY)
	}
	if err != nil {
		return -1, "", pathError("open", above, err)
	}
	d.closeParent()
	d.parent, d.above = fd, above
	return fd, base, nil
}

// raceRetries is as in package files: openat2 gives up where something is renamed meanwhile.
const raceRetries = 64

// openBeneath opens what is below the folder, by a path without links.
func (d *disk) openBeneath(name string, flags int) (int, error) {
	how := &unix.OpenHow{
		Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(d.top, name, how)
		if err == nil || try >= raceRetries || !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func pathError(op, name string, err error) error { return &os.PathError{Op: op, Path: name, Err: err} }

// createReplacing calls fn, again after what had the name is removed.
func (d *disk) createReplacing(name string, fn func(dir int, base string) error) error {
	dir, base, err := d.openParent(name)
	if err != nil {
		return err
	}
	err = fn(dir, base)
	if errors.Is(err, unix.EEXIST) {
		if err = removeAll(dir, base); err == nil {
			err = fn(dir, base)
		}
	}
	if err != nil {
		return pathError("create", name, err)
	}
	return nil
}

// removeAll removes a file or a tree. It follows no link.
func removeAll(dir int, base string) error {
	err := unix.Unlinkat(dir, base, 0)
	if !errors.Is(err, unix.EISDIR) {
		return err
	}
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", dir))
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(base)
}

// makeFolder makes a folder, or takes the one that is there. That one loses its ACLs at once: what is made in it would have
// them too.
func (d *disk) makeFolder(e entry) error {
	if e.name == "." {
		return dropACLs(d.top)
	}
	dir, base, err := d.openParent(e.name)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	err = unix.Mkdirat(dir, base, 0o700)
	if !errors.Is(err, unix.EEXIST) {
		return wrapPathError("create", e.name, err)
	}
	if err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return pathError("stat", e.name, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return d.createReplacing(e.name, func(dir int, base string) error { return unix.Mkdirat(dir, base, 0o700) })
	}
	fd, err := d.openBeneath(e.name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return pathError("open", e.name, err)
	}
	defer unix.Close(fd)
	return dropACLs(fd)
}

func wrapPathError(op, name string, err error) error {
	if err != nil {
		return pathError(op, name, err)
	}
	return nil
}

func dropACLs(fd int) error {
	for _, name := range []string{xattrACL, xattrDefault} {
		err := unix.Fremovexattr(fd, name)
		if err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP) {
			return fmt.Errorf("remove the attribute %s: %w", name, err)
		}
	}
	return nil
}

func (d *disk) makeHardLink(e entry) error {
	from, last, err := d.openParent(e.link)
	if err != nil {
		return err
	}
	if from, err = unix.FcntlInt(uintptr(from), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return pathError("open", e.link, err)
	}
	defer unix.Close(from)
	return d.createReplacing(e.name, func(dir int, base string) error { return unix.Linkat(from, last, dir, base, 0) })
}

func (d *disk) makeSymlink(e entry) error {
	if err := d.createReplacing(e.name, func(dir int, base string) error { return unix.Symlinkat(e.link, dir, base) }); err != nil {
		return err
	}
	dir, base, err := d.openParent(e.name)
	if err != nil {
		return err
	}
	if err := unix.Fchownat(dir, base, e.uid, e.gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return pathError("chown", e.name, err)
	}
	// The last name of this path is not followed, and what is before it is a descriptor.
	full := fmt.Sprintf("/proc/self/fd/%d/%s", dir, base)
	err = e.setXattrs(func(name string, value []byte) error { return unix.Lsetxattr(full, name, value, 0) })
	if err != nil {
		return err
	}
	return setTime(dir, base, e)
}

func setTime(dir int, base string, e entry) error {
	return wrapPathError("set the time of", e.name, unix.UtimesNanoAt(dir, base, []unix.Timespec{e.time, e.time}, unix.AT_SYMLINK_NOFOLLOW))
}

func (e entry) setXattrs(set func(name string, value []byte) error) error {
	for _, name := range e.xattrNames {
		if err := set(name, []byte(e.xattrs[name])); err != nil {
			return fmt.Errorf("set the attribute %s: %w", name, err)
		}
	}
	return nil
}

func (d *disk) makeSpecial(e entry) error {
	kinds := map[byte]uint32{tar.TypeFifo: unix.S_IFIFO, tar.TypeChar: unix.S_IFCHR, tar.TypeBlock: unix.S_IFBLK}
	err := d.createReplacing(e.name, func(dir int, base string) error { return unix.Mknodat(dir, base, kinds[e.kind]|0o600, e.device) })
	if err != nil {
		return err
	}
	dir, base, err := d.openParent(e.name)
	if err != nil {
		return err
	}
	// A descriptor that opens no device; the calls below go by its name in /proc, which is the file itself.
	fd, err := unix.Openat(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return pathError("open", e.name, err)
	}
	defer unix.Close(fd)
	full := fmt.Sprintf("/proc/self/fd/%d", fd)
	if err := unix.Chown(full, e.uid, e.gid); err != nil {
		return pathError("chown", e.name, err)
	}
	if err := unix.Chmod(full, e.mode); err != nil {
		return pathError("chmod", e.name, err)
	}
	if err := e.setXattrs(func(name string, value []byte) error { return unix.Setxattr(full, name, value, 0) }); err != nil {
		return err
	}
	return setTime(dir, base, e)
}

func (d *disk) makeRegular(e entry, fill func(write writeAt) error) error {
	fd := -1
	err := d.createReplacing(e.name, func(dir int, base string) (err error) {
		fd, err = unix.Openat(dir, base, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), e.name)
	// The size first: one that the file system does not know ends it before anything is written.
	err = f.Truncate(e.size)
	if err == nil {
		err = fill(func(b []byte, at int64) error { return writeData(f, b, at) })
	}
	if err == nil {
		err = e.applyAttributes(fd)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	dir, base, err := d.openParent(e.name)
	if err != nil {
		return err
	}
	return setTime(dir, base, e)
}

// applyAttributes gives a file owner, mode and extended attributes, in this order: a new owner resets some.
func (e entry) applyAttributes(fd int) error {
	if err := unix.Fchown(fd, e.uid, e.gid); err != nil {
		return pathError("chown", e.name, err)
	}
	if err := unix.Fchmod(fd, e.mode); err != nil {
		return pathError("chmod", e.name, err)
	}
	return e.setXattrs(func(name string, value []byte) error { return unix.Fsetxattr(fd, name, value, 0) })
}

func (d *disk) finishFolder(e entry) error {
	fd, err := d.openBeneath(e.name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return pathError("open", e.name, err)
	}
	defer unix.Close(fd)
	if err := e.applyAttributes(fd); err != nil {
		return err
	}
	full := fmt.Sprintf("/proc/self/fd/%d", fd)
	return wrapPathError("set the time of", e.name, unix.UtimesNanoAt(unix.AT_FDCWD, full, []unix.Timespec{e.time, e.time}, 0))
}

// hole is how many zeros in a row become a hole.
const hole = 64 << 10

var noData = make([]byte, hole)

// writeData leaves out runs of zeros.
func writeData(f *os.File, b []byte, at int64) error {
	for len(b) > 0 {
		part := b[:min(len(b), hole)]
		if !bytes.Equal(part, noData[:len(part)]) {
			if _, err := f.WriteAt(part, at); err != nil {
				return fmt.Errorf("write data: %w", err)
			}
		}
		b, at = b[len(part):], at+int64(len(part))
	}
	return nil
}
