package files

import (
	"errors"

	"golang.org/x/sys/unix"
)

// immutableFlag is FS_IMMUTABLE_FL of linux/fs.h.
const immutableFlag = 0x10

// ClearImmutable takes the immutable flag (chattr +i, ioctl_iflags(2)) off a file or folder.
// ostree puts it on each deployment. A file system that knows no such flag is fine.
func (f *Files) ClearImmutable(path string) error {
	file, err := f.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	defer file.Close()
	fd := int(file.Fd())
	flags, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	if err != nil {
		return pathError("read flags of", path, err)
	}
	if flags&immutableFlag == 0 {
		return nil
	}
	if err := unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(flags&^immutableFlag)); err != nil {
		return pathError("make mutable", path, err)
	}
	return nil
}
