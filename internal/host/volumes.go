package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
)

// ErrVolumeGone is matched by errors of a volume that was removed while it was read.
var ErrVolumeGone = errors.New("the volume was removed")

// Volume is a filesystem on a block device, such as a stick or virtual media.
type Volume struct {
	// Device is the path of the device node, such as /dev/sdb1.
	Device string
	// Disk is the device's whole disk, such as sdb: a disk and its partitions share it.
	Disk string
	// Label is the filesystem's, as it is written there.
	Label string
	// Filesystem is vfat, exfat, iso9660 or ext4 (which stands for ext2 and ext3, too).
	Filesystem string
	// Model is what the device says about itself, for people; may be empty.
	Model string
}

// VolumeFiles is an opened volume. Names are those of io/fs. Only folders and regular files can be opened; a link is
// listed with its type and never followed. No operation writes to the device.
type VolumeFiles interface {
	fs.ReadDirFS
	io.Closer
}

// Volumes are the node's block devices with a filesystem that has a label.
type Volumes interface {
	// List reads the labels of all devices, sorted by device. A device that cannot be read is left out.
	List(ctx context.Context) ([]Volume, error)
	// Open makes the files of a volume readable, as long as the context lasts, and up to a bound in all: a volume is foreign input.
	// Errors of the files match ErrVolumeGone where the device has gone.
	Open(ctx context.Context, v Volume) (VolumeFiles, error)
	// Await returns when devices have come, gone or changed since the last call, or after a few seconds without such
	// a sign: there are nodes on which no sign arrives. It fails only with the context.
	Await(ctx context.Context) error
}
