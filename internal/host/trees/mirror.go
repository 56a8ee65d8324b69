package trees

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// liveSlack is how much older than the start of a live pass a file must be to count as unchanged; it covers the
// resolution of the clock behind file times.
const liveSlack = time.Second

// mirror is one pass.
type mirror struct {
	ctx  context.Context
	r    host.CopyRequest
	log  *slog.Logger
	pool *pool
	// distrust copies everything: a power cut ended the last pass into this tree.
	distrust bool
	// quiet is the time after which a modified live file is not trusted.
	quiet            unix.Timespec
	from, to         mountID
	toRoot           inode
	skip, always     []string
	src, dst         int
	noClone, onlyOwn atomic.Bool // onlyOwn: not root, privileged attributes are left out
	stats            counters
	mu               sync.Mutex
	leaders          map[inode]string         // first name of each multi-name file, relative
	asOf             map[string]unix.Timespec // change time of a first name's original when it was read
	claimed          map[inode]inode          // file in To -> file in From it stands for
	links            []link                   // further names, made when all contents are there
}

type counters struct {
	files, copied, removed, bytes, cloned atomic.Int64
}

// link is a further name of the file first met as leader.
type link struct{ rel, leader string }

// Mirror implements host.Trees.
//
// Promises beyond the port's: paths in Skip are neither copied nor removed from To.
// File systems mounted below From or To (bind mounts too) are not entered; their mount
// point is made. Contents are shared with FICLONE where the file system can, holes stay
// holes. Every file copied is a new inode, so nothing else that links to the old one
// changes. Inode flags (chattr: immutable, append-only) are not carried over, as with cp -a.
//
// A successful pass has been flushed to disk. A mark on To (an extended attribute) identifies a pass that a power cut
// interrupted; the next pass then trusts no size and no time. After a live pass, a file that was written recently
// carries a time that makes the second pass copy it again; this includes memory-mapped files, whose times the kernel
// updates late. A file that keeps changing in a pass that is not live (a log, say) is kept as last read, and the log
// names it.
func (t *Trees) Mirror(ctx context.Context, r host.CopyRequest) (host.CopyStats, error) {
	started := time.Now()
	m := t.newPass(ctx, r)
	if err := t.runPass(m); err != nil {
		return m.copyStats(started), fmt.Errorf("mirror %s to %s: %w", r.From, r.To, err)
	}
	return m.copyStats(started), nil
}

func (t *Trees) newPass(ctx context.Context, r host.CopyRequest) *mirror {
	m := &mirror{
		ctx: ctx, r: r, log: t.log, pool: newPool(), skip: cleanPaths(r.Skip), always: cleanPaths(r.Always),
		leaders: map[inode]string{}, claimed: map[inode]inode{}, asOf: map[string]unix.Timespec{},
	}
	m.onlyOwn.Store(os.Geteuid() != 0)
	return m
}

func (m *mirror) copyStats(started time.Time) host.CopyStats {
	return host.CopyStats{
		Files: int(m.stats.files.Load()), Copied: int(m.stats.copied.Load()), Removed: int(m.stats.removed.Load()),
		Bytes: m.stats.bytes.Load(), Reflinked: m.stats.cloned.Load() > 0, Took: time.Since(started),
	}
}

func (t *Trees) runPass(m *mirror) error {
	src, err := t.root.Open(m.r.From, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("open %s: %w", m.r.From, err)
	}
	defer src.Close()
	dst, fresh, err := t.openTarget(m.r.To)
	if err != nil {
		return err
	}
	defer dst.Close()
	return m.withFolders(src, dst, func() error {
		m.submitRoot(fresh)
		if err := m.pool.run(t.workers); err != nil {
			return err
		}
		if err := m.linkAll(); err != nil {
			return err
		}
		return m.finishPass()
	})
}

// withFolders sets the two folders and runs do.
func (m *mirror) withFolders(src, dst *os.File, do func() error) error {
	from, err := statFD(int(src.Fd()))
	if err != nil {
		return err
	}
	to, err := statFD(int(dst.Fd()))
	if err != nil {
		return err
	}
	if err := refuseNested(int(src.Fd()), int(dst.Fd()), from, to); err != nil {
		return err
	}
	if a, b, ok := sameMount(int(src.Fd()), int(dst.Fd()), from, to); ok {
		defer closeAll(a, b)
		src, dst = a, b
	}
	m.src, m.dst = int(src.Fd()), int(dst.Fd())
	if err := m.preparePass(); err != nil {
		return err
	}
	err = do()
	runtime.KeepAlive(src)
	runtime.KeepAlive(dst)
	return err
}

// openTarget opens To and makes it where it is missing.
func (t *Trees) openTarget(to string) (dir *os.File, fresh bool, err error) {
	dir, err = t.root.Open(to, unix.O_RDONLY|unix.O_DIRECTORY)
	if !errors.Is(err, os.ErrNotExist) {
		return dir, false, err
	}
	if err := t.root.MakeFolder(to); err != nil {
		return nil, false, fmt.Errorf("make folder %s: %w", to, err)
	}
	dir, err = t.root.Open(to, unix.O_RDONLY|unix.O_DIRECTORY)
	return dir, true, err
}

func (m *mirror) preparePass() error {
	from, err := statFD(m.src)
	if err != nil {
		return err
	}
	to, err := statFD(m.dst)
	if err != nil {
		return err
	}
	m.from, m.to, m.toRoot = from.mount(), to.mount(), to.inode()
	if m.r.Live {
		m.quiet = unix.NsecToTimespec(time.Now().Add(-liveSlack).UnixNano())
		// From here on, a write through memory to a page that was clean updates its file's time.
		if err := unix.Syncfs(m.src); err != nil {
			return fmt.Errorf("flush the source: %w", err)
		}
	}
	return m.beginPass()
}

// refuseNested refuses trees that contain one another.
func refuseNested(src, dst int, from, to meta) error {
	if from.inode() == to.inode() {
		return errors.New("both are the same folder")
	}
	a, err := fdPath(src)
	if err != nil {
		return err
	}
	b, err := fdPath(dst)
	if err != nil {
		return err
	}
	a, b = strings.TrimSuffix(a, "/")+"/", strings.TrimSuffix(b, "/")+"/"
	if strings.HasPrefix(b, a) || strings.HasPrefix(a, b) {
		return errors.New("one contains the other")
	}
	return nil
}

// cleanPaths makes request paths comparable with those of the walk.
func cleanPaths(paths []string) []string {
	var out []string
	for _, p := range paths {
		if p = strings.TrimPrefix(path.Clean("/"+p), "/"); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// containsPath says whether rel is one of the paths or below one.
func containsPath(paths []string, rel string) bool {
	for _, p := range paths {
		if rel == p || (len(rel) > len(p) && rel[len(p)] == '/' && rel[:len(p)] == p) {
			return true
		}
	}
	return false
}
