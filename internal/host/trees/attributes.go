package trees

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// at names a file by its folder, so that no link on the way can lead elsewhere.
type at struct {
	dir  int
	name string
}

// procPath is a name of the file for calls that know no folder descriptors.
func (a at) procPath() string { return "/proc/self/fd/" + strconv.Itoa(a.dir) + "/" + a.name }

// copyAttributes gives dst the owner, extended attributes, mode and times of src. have is what
// dst is known to have; nil for a file just made. The order matters: a new owner
// takes away capabilities and set-id bits, an ACL sets the mode's group bits,
// and everything moves the times.
func (m *mirror) copyAttributes(src, dst at, want meta, have *meta) error {
	chown := have == nil || have.uid != want.uid || have.gid != want.gid
	if chown {
		if err := unix.Fchownat(dst.dir, dst.name, int(want.uid), int(want.gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return fmt.Errorf("set owner: %w", err)
		}
	}
	touched, err := m.copyXattrs(src, dst)
	if err != nil {
		if errors.Is(err, unix.ENOENT) {
			return errRaced
		}
		return err
	}
	if want.kind() != unix.S_IFLNK && (chown || touched || have.mode != want.mode) {
		if err := unix.Fchmodat(dst.dir, dst.name, want.perm(), 0); err != nil {
			return fmt.Errorf("set mode: %w", err)
		}
	}
	if have != nil && have.mtime == want.mtime {
		return nil
	}
	times := []unix.Timespec{want.atime, want.mtime}
	if err := unix.UtimesNanoAt(dst.dir, dst.name, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("set times: %w", err)
	}
	return nil
}

// copyXattrs makes the extended attributes equal: labels, capabilities, ACLs, user's own.
func (m *mirror) copyXattrs(src, dst at) (touched bool, err error) {
	from, to := src.procPath(), dst.procPath()
	want, err := m.listXattrs(from)
	if err != nil {
		return false, fmt.Errorf("list attributes: %w", err)
	}
	have, err := m.listXattrs(to)
	if err != nil {
		return false, fmt.Errorf("list attributes of the copy: %w", err)
	}
	for _, name := range want {
		value, err := readXattr(from, name)
		if errors.Is(err, unix.ENODATA) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("read attribute %s: %w", name, err)
		}
		if hasName(have, name) {
			if now, err := readXattr(to, name); err == nil && bytes.Equal(now, value) {
				continue
			}
		}
		if err := unix.Lsetxattr(to, name, value, 0); err != nil {
			return false, fmt.Errorf("set attribute %s: %w", name, err)
		}
		touched = true
	}
	for _, name := range have {
		if hasName(want, name) || name == "security.selinux" { // a label is never taken away
			continue
		}
		if err := unix.Lremovexattr(to, name); err != nil && !errors.Is(err, unix.ENODATA) {
			return false, fmt.Errorf("remove attribute %s: %w", name, err)
		}
		touched = true
	}
	return touched, nil
}

// listXattrs lists the attributes that belong to the file. Without root only those its
// owner can set.
func (m *mirror) listXattrs(path string) ([]string, error) {
	var buf [512]byte
	n, err := unix.Llistxattr(path, buf[:])
	list := buf[:max(n, 0)]
	if errors.Is(err, unix.ERANGE) {
		list = make([]byte, 64<<10) // XATTR_LIST_MAX
		n, err = unix.Llistxattr(path, list)
		list = list[:max(n, 0)]
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil || n == 0 {
		return nil, err
	}
	var out []string
	for _, name := range strings.Split(strings.TrimRight(string(list), "\x00"), "\x00") {
		if m.isCarried(name) {
			out = append(out, name)
		}
	}
	return out, nil
}

func (m *mirror) isCarried(name string) bool {
	switch {
	case name == markAttr:
		return false
	case strings.HasPrefix(name, "user."), strings.HasPrefix(name, "system.posix_acl_"):
		return true
	case strings.HasPrefix(name, "security."), strings.HasPrefix(name, "trusted."):
		return !m.onlyOwn.Load()
	}
	return false
}

func readXattr(path, name string) ([]byte, error) {
	buf := make([]byte, 256)
	n, err := unix.Lgetxattr(path, name, buf)
	if errors.Is(err, unix.ERANGE) {
		buf = make([]byte, 64<<10) // XATTR_SIZE_MAX
		n, err = unix.Lgetxattr(path, name, buf)
	}
	if err != nil {
		return nil, fmt.Errorf("read the extended attribute %s: %w", name, err)
	}
	return buf[:n], nil
}

func hasName(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
