package trees

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// meta is what the mirror needs to know of one file.
type meta struct {
	dev, mnt, ino uint64
	mode, nlink   uint32
	uid, gid      uint32
	rdev          uint64
	size, blocks  int64
	atime, mtime  unix.Timespec
	ctime         unix.Timespec
}

// inode tells files apart; two names with one inode are hard links.
type inode struct{ dev, ino uint64 }

// mountID tells mounts apart: also bind mounts of one file system, where the kernel
// says (Linux 5.8), else file systems.
type mountID struct{ dev, mnt uint64 }

func (m meta) kind() uint32   { return m.mode & unix.S_IFMT }
func (m meta) perm() uint32   { return m.mode & 0o7777 }
func (m meta) inode() inode   { return inode{m.dev, m.ino} }
func (m meta) mount() mountID { return mountID{m.dev, m.mnt} }

// hasHoles says that the file has holes worth looking for.
func (m meta) hasHoles() bool { return m.blocks*512 < m.size }

func statAt(dir int, name string) (meta, error) {
	return readMeta(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
}

func statFD(fd int) (meta, error) { return readMeta(fd, "", unix.AT_EMPTY_PATH) }

func readMeta(dir int, name string, flags int) (meta, error) {
	var s unix.Statx_t
	if err := unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &s); err != nil {
		return meta{}, fmt.Errorf("read the attributes of %s: %w", name, err)
	}
	return meta{
		dev: unix.Mkdev(s.Dev_major, s.Dev_minor), mnt: s.Mnt_id, ino: s.Ino,
		mode: uint32(s.Mode), nlink: s.Nlink, uid: s.Uid, gid: s.Gid,
		rdev: unix.Mkdev(s.Rdev_major, s.Rdev_minor),
		size: int64(s.Size), blocks: int64(s.Blocks),
		atime: toTimespec(s.Atime), mtime: toTimespec(s.Mtime), ctime: toTimespec(s.Ctime),
	}, nil
}

func toTimespec(t unix.StatxTimestamp) unix.Timespec {
	return unix.NsecToTimespec(t.Sec*1e9 + int64(t.Nsec))
}

func isAfter(a, b unix.Timespec) bool {
	return a.Sec > b.Sec || (a.Sec == b.Sec && a.Nsec > b.Nsec)
}

func openDir(dir int, name string) (int, error) {
	return unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}
