package ostree

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// WritableSysroot makes /sysroot and /boot writable for this process, where the node
// mounts them read-only (sysroot.readonly). It works in a private mount namespace only
// (a unit with PrivateMounts=yes, or `unshare --mount`): done in the namespace of PID 1
// it would take the protection off for everybody, and is refused.
func WritableSysroot(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	private, err := privateMounts("/proc/self/ns/mnt", "/proc/1/ns/mnt")
	if err != nil {
		return err
	}
	if !private {
		return errors.New("make /sysroot writable: this process shares the mount namespace of PID 1; " +
			"run it in a unit with PrivateMounts=yes or under unshare --mount")
	}
	for _, path := range []string{host.SysrootDir, "/boot"} {
		if err := remountWritable(path); err != nil {
			return fmt.Errorf("make %s writable: %w", path, err)
		}
	}
	return nil
}

// privateMounts compares two mount namespaces.
func privateMounts(self, first string) (bool, error) {
	mine, err := os.Readlink(self)
	if err != nil {
		return false, fmt.Errorf("look up the own mount namespace: %w", err)
	}
	theirs, err := os.Readlink(first)
	if err != nil {
		return false, fmt.Errorf("look up the mount namespace of PID 1: %w", err)
	}
	return mine != theirs, nil
}

// keptFlags are the mount flags a remount would drop unless it names them, with
// what statfs(2) calls them.
var keptFlags = []struct{ statfs, mount uintptr }{
	{unix.ST_NOSUID, unix.MS_NOSUID}, {unix.ST_NODEV, unix.MS_NODEV}, {unix.ST_NOEXEC, unix.MS_NOEXEC},
	{unix.ST_NOATIME, unix.MS_NOATIME}, {unix.ST_NODIRATIME, unix.MS_NODIRATIME}, {unix.ST_RELATIME, unix.MS_RELATIME},
}

// remountWritable lifts read-only from the mount alone first; only a file system that is
// itself read-only (a /boot from fstab) is remounted as a whole.
func remountWritable(path string) error {
	flags, readOnly, err := mountFlags(path)
	if err != nil || !readOnly {
		return err
	}
	err = unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|flags, "")
	if errors.Is(err, unix.EINVAL) {
		return nil // not a mount of its own: part of another file system that stays as it is
	}
	if err != nil {
		return fmt.Errorf("remount %s read-write: %w", path, err)
	}
	if _, readOnly, err = mountFlags(path); err != nil || !readOnly {
		return err
	}
	if err := unix.Mount("", path, "", unix.MS_REMOUNT|flags, ""); err != nil {
		return fmt.Errorf("remount the file system of %s read-write: %w", path, err)
	}
	if _, readOnly, err = mountFlags(path); err == nil && readOnly {
		return unix.EROFS
	}
	return err
}

func mountFlags(path string) (keep uintptr, readOnly bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return 0, false, nil
		}
		return 0, false, err
	}
	flags := uintptr(st.Flags)
	for _, f := range keptFlags {
		if flags&f.statfs != 0 {
			keep |= f.mount
		}
	}
	return keep, flags&unix.ST_RDONLY != 0, nil
}
