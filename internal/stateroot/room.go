package stateroot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Disk measures room on the node's disk; host.Trees implements it.
type Disk interface {
	Usage(ctx context.Context, path string) (host.Size, error)
	Free(path string) (host.Size, error)
	Shares(path string) (bool, error)
}

// spare is room for what a second system takes besides: its /etc, boot entries, journals.
const spare = 64 << 20

// Room measures what a second stateroot takes and what is free.
type Room struct {
	Files host.Files
	Disk  Disk
}

// SpaceFor compares what a second copy of the stateroot's /var takes with what is free. Where the file system shares
// the data of copies, only what is written to them later needs room.
func (r Room) SpaceFor(ctx context.Context, stateroot string) (need, free host.Size, err error) {
	need, free, _, err = r.spaceFor(ctx, stateroot)
	return need, free, err
}

func (r Room) spaceFor(ctx context.Context, stateroot string) (need, free host.Size, shared bool, err error) {
	used, err := r.Disk.Usage(ctx, host.InVar(stateroot, "/var"))
	if err != nil {
		return need, free, false, fmt.Errorf("measure /var of stateroot %s: %w", stateroot, err)
	}
	if free, err = r.Disk.Free(host.DeployDir); err != nil {
		return need, free, false, fmt.Errorf("measure free space below %s: %w", host.DeployDir, err)
	}
	if shared, err = r.Disk.Shares("/var/lib"); err != nil && !isFull(err) {
		return need, free, false, fmt.Errorf("find out whether copies below /var/lib share data: %w", err)
	}
	need = host.Size{Bytes: used.Bytes/10 + spare, Inodes: used.Inodes + used.Inodes/10}
	if !shared {
		need.Bytes += used.Bytes
	}
	return need, free, shared, nil
}

// isFull recognises a file system without a byte or an inode for a trial. Data counts as not shared then; the comparison
// that follows names what is missing.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Enough refuses before anything is made or stopped: what the new stateroot still lacks must fit, with a tenth to
// spare, and its kernel must fit into /boot. No retry mends the error.
func (r Room) Enough(ctx context.Context, p Pair) error {
	need, free, shared, err := r.spaceFor(ctx, p.Old)
	if err != nil {
		return err
	}
	have, err := r.Disk.Usage(ctx, host.InVar(p.New, "/var")) // of an earlier run that was interrupted
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("measure the new stateroot: %w", err)
	}
	if !shared {
		need.Bytes -= have.Bytes
	}
	if err := checkFits("the new stateroot", host.DeployDir, need.Bytes, free.Bytes); err != nil {
		return err
	}
	if need.Inodes -= have.Inodes; need.Inodes > free.Inodes {
		return flow.Permanent(fmt.Errorf("the new stateroot needs %d inodes more and %d are free below %s: remove files, then ask again",
			need.Inodes, free.Inodes, host.DeployDir))
	}
	kernel, room, err := r.BootSpaceFor(ctx, p)
	if err != nil {
		return err
	}
	return checkFits("its kernel with initramfs", "/boot", kernel, room)
}

func checkFits(what, where string, need, free int64) error {
	if need <= free {
		return nil
	}
	return flow.Permanent(fmt.Errorf("%s needs %d MiB more and %d MiB are free below %s: free %d MiB, then ask again",
		what, need>>20, free>>20, where, (need-free)>>20+1))
}

// BootSpaceFor compares what the new stateroot's own copy of kernel and initramfs takes in /boot with what is
// free there, in bytes. Nothing is needed where it has one, or where the kernels lie elsewhere.
func (r Room) BootSpaceFor(ctx context.Context, p Pair) (need, free int64, err error) {
	names, err := r.Files.List(host.BootKernels)
	if err != nil {
		return 0, 0, fmt.Errorf("list %s: %w", host.BootKernels, err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, p.New+"-") {
			return 0, 0, nil
		}
		if !strings.HasPrefix(name, p.Old+"-") {
			continue
		}
		used, err := r.Disk.Usage(ctx, path.Join(host.BootKernels, name))
		if err != nil {
			return 0, 0, fmt.Errorf("measure the kernels in %s: %w", host.BootKernels, err)
		}
		need = max(need, used.Bytes) // which of them runs does not show
	}
	if need == 0 {
		return 0, 0, nil
	}
	room, err := r.Disk.Free(host.BootKernels)
	if err != nil {
		return 0, 0, fmt.Errorf("measure free space in /boot: %w", err)
	}
	return need, room.Bytes, nil
}
