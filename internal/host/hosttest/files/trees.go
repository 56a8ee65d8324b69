package files

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// Trees returns the machine's host.Trees. What Mirror writes is lost at a power cut unless Sync
// was called (or the node was rebooted in good order) in between.
func Trees(n *machine.Machine, o TreeOptions) host.Trees { return trees{n, o} }

// TreeOptions are what Trees reports of the filesystem.
type TreeOptions struct {
	// FreeInodes is how many files may still be created; 0 for no limit.
	FreeInodes int64
	// Reflinks has Shares say that copies share their data. Copies take room all the same.
	Reflinks bool
}

type trees struct {
	n *machine.Machine
	o TreeOptions
}

// mirrored is one pass: from and to are physical.
type mirrored struct {
	n        *machine.Machine
	from, to string
	r        host.CopyRequest
	stats    host.CopyStats
}

func (t trees) Mirror(ctx context.Context, r host.CopyRequest) (host.CopyStats, error) {
	n := t.n
	n.Enter()
	defer n.Unlock()
	from, err := n.Resolve(r.From, true)
	if err != nil {
		return host.CopyStats{}, err
	}
	to, err := n.Resolve(r.To, true)
	if err != nil {
		return host.CopyStats{}, err
	}
	if !n.Disk.Live[from].IsDir() {
		return host.CopyStats{}, fmt.Errorf("mirror %s to %s: %w", r.From, r.To, &fs.PathError{Op: "open", Path: r.From, Err: fs.ErrNotExist})
	}
	inside := machine.Within(to, from) && !listed(r.Skip, strings.TrimPrefix(to, from))
	if inside || machine.Within(from, to) {
		return host.CopyStats{}, fmt.Errorf("mirror %s to %s: %w", r.From, r.To, syscall.EINVAL)
	}
	m := &mirrored{n: n, from: from, to: to, r: r}
	if err := m.pass(ctx); err != nil {
		return m.stats, fmt.Errorf("mirror %s to %s: %w", r.From, r.To, err)
	}
	return m.stats, nil
}

func (m *mirrored) pass(ctx context.Context) error {
	source := m.n.Disk.Under(m.from)
	for _, p := range m.surplus() {
		if err := m.n.Change("trees.remove", p); err != nil {
			return err
		}
		m.n.Disk.Remove(p, false)
		m.stats.Removed++
	}
	for _, p := range source {
		if err := ctx.Err(); err != nil {
			return err
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(p, m.from), "/")
		if m.skipped(rel) {
			continue
		}
		if err := m.copy(p, path.Join(m.to, rel), rel); err != nil {
			return err
		}
	}
	return nil
}

// surplus lists what the target has and the source lacks, the deepest first. What is
// skipped is left alone on both sides.
func (m *mirrored) surplus() []string {
	var gone []string
	for _, p := range m.n.Disk.Under(m.to) {
		rel := strings.TrimPrefix(strings.TrimPrefix(p, m.to), "/")
		have, ok := m.n.Disk.Live[path.Join(m.from, rel)]
		if !m.skipped(rel) && (!ok || have.Mode.Type() != m.n.Disk.Live[p].Mode.Type()) {
			gone = append(gone, p)
		}
	}
	slices.Reverse(gone)
	return gone
}

func (m *mirrored) copy(from, to, rel string) error {
	in := m.n.Disk.Live[from]
	have, there := m.n.Disk.Live[to]
	if !in.IsDir() {
		m.stats.Files++
	}
	same := there && have.Mode == in.Mode && have.Link == in.Link && len(have.Data) == len(in.Data) &&
		(in.IsDir() || have.MTime.Equal(in.MTime))
	if same && (in.IsDir() || !listed(m.r.Always, rel)) {
		return nil
	}
	if !in.IsDir() {
		if err := m.n.Change("trees.copy", to); err != nil {
			return err
		}
		m.stats.Copied++
		m.stats.Bytes += int64(len(in.Data))
	}
	return m.n.Disk.Put(to, in, false)
}

func (m *mirrored) skipped(rel string) bool { return listed(m.r.Skip, rel) }

// listed says that rel is one of the paths or below one of them.
func listed(paths []string, rel string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return machine.Within(path.Join("/", rel), path.Clean(path.Join("/", p)))
	})
}

func (t trees) Usage(_ context.Context, p string) (host.Size, error) {
	n := t.n
	n.Enter()
	defer n.Unlock()
	at, _, err := n.Look(p, true)
	if err != nil {
		return host.Size{}, err
	}
	var sum host.Size
	for _, f := range n.Disk.Under(at) {
		sum.Bytes += int64(len(n.Disk.Live[f].Data))
		sum.Inodes++
	}
	return sum, nil
}

func (t trees) Free(string) (host.Size, error) {
	t.n.Enter()
	defer t.n.Unlock()
	inodes := t.o.FreeInodes
	if inodes == 0 {
		inodes = math.MaxInt64
	}
	return host.Size{Bytes: t.n.Disk.Free, Inodes: inodes}, nil
}

func (t trees) Shares(p string) (bool, error) {
	t.n.Enter()
	defer t.n.Unlock()
	if _, _, err := t.n.Look(p, true); err != nil {
		return false, err
	}
	return t.o.Reflinks, nil
}

// Sync flushes the one filesystem of the node.
func (t trees) Sync(p string) error {
	t.n.Enter()
	defer t.n.Unlock()
	if _, _, err := t.n.Look(p, true); err != nil {
		return err
	}
	if err := t.n.Change("trees.sync", p); err != nil {
		return err
	}
	t.n.Disk.Sync()
	return nil
}
