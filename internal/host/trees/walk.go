package trees

import (
	"errors"
	"fmt"
	"os"
	"path"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// batchSize is how many entries of a folder one task handles.
const batchSize = 64

// folder is a folder of From being mirrored. It is held open until everything below it is
// done; then its own attributes are set, so that they cannot get in the way before.
type folder struct {
	rel    string
	up     *folder
	src    int
	dst    int
	fresh  bool // To had no such folder: nothing to compare or remove
	owned  bool // this folder closes the descriptors
	refs   atomic.Int32
	failed atomic.Bool
}

func (m *mirror) submitRoot(fresh bool) {
	root := &folder{src: m.src, dst: m.dst, fresh: fresh}
	root.refs.Store(1)
	m.pool.submit(func(failed bool) error {
		if failed {
			return nil
		}
		return m.releaseFolder(root, m.queueEntries(root))
	})
}

// submitFolder queues a folder below up.
func (m *mirror) submitFolder(up *folder, name string, fresh bool) {
	up.refs.Add(1)
	m.pool.submit(func(failed bool) error {
		if failed {
			return m.releaseFolder(up, nil)
		}
		f, err := m.openFolder(up, name, fresh)
		if err != nil || f == nil {
			return m.releaseFolder(up, err)
		}
		return m.releaseFolder(f, m.queueEntries(f))
	})
}

// openFolder opens a folder on both sides; nil means that it vanished.
func (m *mirror) openFolder(up *folder, name string, fresh bool) (*folder, error) {
	rel := path.Join(up.rel, name)
	src, err := openDir(up.src, name)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", rel, err)
	}
	dst, err := openDir(up.dst, name)
	if err != nil {
		unix.Close(src)
		return nil, fmt.Errorf("open the copy of %s: %w", rel, err)
	}
	f := &folder{rel: rel, up: up, src: src, dst: dst, fresh: fresh, owned: true}
	f.refs.Store(1)
	return f, nil
}

// releaseFolder gives back one reference. With the last one the folder gets its attributes and
// lets go of the one above.
func (m *mirror) releaseFolder(f *folder, err error) error {
	for ; f != nil; f = f.up {
		if err != nil {
			f.failed.Store(true)
		}
		if f.refs.Add(-1) > 0 {
			return err
		}
		if err == nil && !f.failed.Load() {
			err = m.sealFolder(f)
		}
		if f.owned {
			unix.Close(f.src)
			unix.Close(f.dst)
		}
	}
	return err
}

func (m *mirror) sealFolder(f *folder) error {
	want, err := statFD(f.src)
	if err != nil {
		return fmt.Errorf("stat %s: %w", f.rel, err)
	}
	if err := m.copyAttributes(at{f.src, "."}, at{f.dst, "."}, want, nil); err != nil {
		return fmt.Errorf("attributes of %s: %w", f.rel, err)
	}
	return nil
}

// queueEntries removes what From lacks and queues the rest in batches.
func (m *mirror) queueEntries(f *folder) error {
	names, err := readNames(f.src)
	if err != nil && !errors.Is(err, unix.ENOENT) { // removed since we opened it: empty
		return fmt.Errorf("list %s: %w", f.rel, err)
	}
	if !f.fresh {
		if err := m.pruneFolder(f, names); err != nil {
			return err
		}
	}
	for len(names) > 0 {
		n := min(batchSize, len(names))
		batch := names[:n]
		names = names[n:]
		f.refs.Add(1)
		m.pool.submit(func(failed bool) error {
			if failed {
				return m.releaseFolder(f, nil)
			}
			return m.releaseFolder(f, m.mirrorBatch(f, batch))
		})
	}
	return nil
}

func (m *mirror) mirrorBatch(f *folder, names []string) error {
	for _, name := range names {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		if err := m.mirrorEntry(f, name); err != nil {
			return err
		}
	}
	return nil
}

// readNames lists a folder without moving the offset of the descriptor that the walk uses.
func readNames(fd int) ([]string, error) {
	again, err := openDir(fd, ".")
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(again), ".")
	defer dir.Close()
	return dir.Readdirnames(-1)
}
