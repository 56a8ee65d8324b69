package crashtest

import "golang.org/x/sys/unix"

func isFlush(number int) bool {
	switch number {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNCFS, unix.SYS_SYNC:
		return true
	}
	return false
}

// callName names the calls after which the files may have changed; it is empty for all others. A call missing here is
// seen together with the next one, which only makes the moments coarser.
func callName(number int) string {
	switch number {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		return "fsync"
	case unix.SYS_SYNCFS, unix.SYS_SYNC:
		return "syncfs"
	case unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_MKNODAT:
		return "open"
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_COPY_FILE_RANGE, unix.SYS_SENDFILE, unix.SYS_IOCTL:
		return "write"
	case unix.SYS_FTRUNCATE, unix.SYS_TRUNCATE, unix.SYS_FALLOCATE:
		return "truncate"
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		return "rename"
	case unix.SYS_LINKAT, unix.SYS_SYMLINKAT:
		return "link"
	case unix.SYS_MKDIRAT:
		return "mkdir"
	case unix.SYS_UNLINKAT:
		return "unlink"
	case unix.SYS_FCHMOD, unix.SYS_FCHMODAT:
		return "chmod"
	case unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR:
		return "setxattr"
	}
	return ""
}
