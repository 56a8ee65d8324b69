package files

import (
	"errors"

	"golang.org/x/sys/unix"
)

// FS_IMMUTABLE_FL and FS_APPEND_FL of linux/fs.h.
const (
	immutableFlag = 0x10
	appendFlag    = 0x20
)

// clearFlags takes flags (chattr(1), ioctl_iflags(2)) off an open file. A file system that knows none is fine.
func clearFlags(fd int, flags uint32) error {
	have, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP) || err == nil && have&flags == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(have&^flags))
}
