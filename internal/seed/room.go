package seed

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Disk measures room on the node's disk; host.Trees implements it.
type Disk interface {
	Usage(ctx context.Context, path string) (host.Size, error)
	Free(path string) (host.Size, error)
	Shares(path string) (bool, error)
}

// CopyReserve is what the work on a copy takes beside it: an etcd that is compacted, lists and manifests, in bytes.
const CopyReserve = 512 << 20

// copyParent is on the file system of host.StateDir, which the first operation makes.
const copyParent = "/var/lib"

// RoomForCopy compares what the copy that an image is made from takes with what is free. Where copies share their data, etcd's
// alone is copied; a twentieth is for folders, and for what changes meanwhile. Other file systems below /var are not copied.
func RoomForCopy(ctx context.Context, disk Disk) (need, free host.Size, err error) {
	shared, err := disk.Shares(copyParent)
	if err != nil {
		return need, free, fmt.Errorf("find out whether copies share their data: %w", err)
	}
	used, err := disk.Usage(ctx, "/var")
	if err != nil {
		return need, free, fmt.Errorf("measure /var: %w", err)
	}
	copied := used
	if shared {
		if copied, err = disk.Usage(ctx, host.EtcdData); err != nil {
			return need, free, fmt.Errorf("measure %s: %w", host.EtcdData, err)
		}
	}
	if free, err = disk.Free(copyParent); err != nil {
		return need, free, fmt.Errorf("measure the free space of %s: %w", copyParent, err)
	}
	need = host.Size{Bytes: copied.Bytes + used.Bytes/20 + CopyReserve, Inodes: used.Inodes + used.Inodes/20}
	return need, free, nil
}

// RoomLacking says what a copy lacks; empty where it fits.
func RoomLacking(need, free host.Size) string {
	const mib = 1 << 20
	switch {
	case need.Bytes > free.Bytes:
		return fmt.Sprintf("the copy needs %d MiB in %s, where %d MiB are free", need.Bytes/mib, host.StateDir, free.Bytes/mib)
	case need.Inodes > free.Inodes:
		return fmt.Sprintf("the copy needs %d inodes in %s, where %d are free", need.Inodes, host.StateDir, free.Inodes)
	}
	return ""
}
