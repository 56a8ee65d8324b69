package trees

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
)

// Options configure a Trees.
type Options struct {
	// Root is the host's root as this process sees it; empty is "/".
	Root string
	// Workers is how many files are copied at once; 0 chooses by the number of CPUs.
	Workers int
	// Log reports tolerated irregularities; nil drops them.
	Log *slog.Logger
}

// Trees implements host.Trees.
type Trees struct {
	root    *files.Files
	workers int
	log     *slog.Logger
}

// New returns a Trees beneath the root.
func New(o Options) *Trees {
	if o.Workers == 0 {
		o.Workers = min(4, max(2, runtime.NumCPU()))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Trees{root: files.New(o.Root), workers: o.Workers, log: o.Log}
}

// Usage implements host.Trees. A file with several names counts once; other file systems
// mounted below the path do not count. Blocks shared by reflinks count for each file.
func (t *Trees) Usage(ctx context.Context, path string) (host.Size, error) {
	top, err := t.root.Open(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return host.Size{}, fmt.Errorf("measure %s: %w", path, err)
	}
	defer top.Close()
	u := &usage{ctx: ctx, seen: map[inode]bool{}}
	self, err := statFD(int(top.Fd()))
	if err != nil {
		return host.Size{}, fmt.Errorf("measure %s: %w", path, err)
	}
	u.mount = self.mount()
	u.addFile(self)
	if err := u.addFolder(top); err != nil {
		return host.Size{}, fmt.Errorf("measure %s: %w", path, err)
	}
	return u.total, nil
}

type usage struct {
	ctx   context.Context
	mount mountID
	seen  map[inode]bool
	total host.Size
}

func (u *usage) addFile(m meta) {
	u.total.Bytes += m.blocks * 512
	u.total.Inodes++
}

func (u *usage) addFolder(dir *os.File) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("list a folder: %w", err)
	}
	for _, name := range names {
		m, err := statAt(int(dir.Fd()), name)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := u.addEntry(dir, name, m); err != nil {
			return err
		}
	}
	return nil
}

func (u *usage) addEntry(dir *os.File, name string, m meta) error {
	if m.mount() != u.mount || u.seen[m.inode()] {
		return nil
	}
	if m.kind() != unix.S_IFDIR {
		if m.nlink > 1 {
			u.seen[m.inode()] = true
		}
		u.addFile(m)
		return nil
	}
	u.addFile(m)
	fd, err := openDir(int(dir.Fd()), name)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	sub := os.NewFile(uintptr(fd), name)
	defer sub.Close()
	return u.addFolder(sub)
}

// Free implements host.Trees.
func (t *Trees) Free(path string) (host.Size, error) {
	file, err := t.root.Open(path, unix.O_PATH)
	if err != nil {
		return host.Size{}, fmt.Errorf("free space: %w", err)
	}
	defer file.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &st); err != nil {
		return host.Size{}, fmt.Errorf("free space at %s: %w", path, err)
	}
	free := host.Size{Bytes: int64(st.Bfree) * int64(st.Frsize), Inodes: int64(st.Ffree)} //nolint:unconvert // Frsize is a uint32 on s390x
	if st.Files == 0 {
		free.Inodes = math.MaxInt64
	}
	return free, nil
}

// Sync implements host.Trees.
func (t *Trees) Sync(path string) error {
	file, err := t.root.Open(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	defer file.Close()
	if err := unix.Syncfs(int(file.Fd())); err != nil {
		return fmt.Errorf("sync the file system of %s: %w", path, err)
	}
	return nil
}
