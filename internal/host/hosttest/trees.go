package hosttest

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
)

// Trees is the node's host.Trees. What Mirror writes is lost at a power cut unless Sync
// was called (or the node was rebooted in good order) in between.
func (n *Node) Trees() host.Trees { return trees{n} }

type trees struct{ n *Node }

// mirrored is one pass: from and to are physical.
type mirrored struct {
	n        *Node
	from, to string
	r        host.CopyRequest
	stats    host.CopyStats
}

func (t trees) Mirror(ctx context.Context, r host.CopyRequest) (host.CopyStats, error) {
	n := t.n
	n.lock()
	defer n.mu.Unlock()
	from, err := n.resolve(r.From, true)
	if err != nil {
		return host.CopyStats{}, err
	}
	to, err := n.resolve(r.To, true)
	if err != nil {
		return host.CopyStats{}, err
	}
	if !n.disk.live[from].isDir() {
		return host.CopyStats{}, fmt.Errorf("mirror %s to %s: %w", r.From, r.To, &fs.PathError{Op: "open", Path: r.From, Err: fs.ErrNotExist})
	}
	inside := within(to, from) && !listed(r.Skip, strings.TrimPrefix(to, from))
	if inside || within(from, to) {
		return host.CopyStats{}, fmt.Errorf("mirror %s to %s: %w", r.From, r.To, syscall.EINVAL)
	}
	m := &mirrored{n: n, from: from, to: to, r: r}
	if err := m.pass(ctx); err != nil {
		return m.stats, fmt.Errorf("mirror %s to %s: %w", r.From, r.To, err)
	}
	return m.stats, nil
}

func (m *mirrored) pass(ctx context.Context) error {
	source := m.n.disk.under(m.from)
	for _, p := range m.surplus() {
		if err := m.n.op("trees.remove", p); err != nil {
			return err
		}
		m.n.disk.remove(p, false)
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
	for _, p := range m.n.disk.under(m.to) {
		rel := strings.TrimPrefix(strings.TrimPrefix(p, m.to), "/")
		have, ok := m.n.disk.live[path.Join(m.from, rel)]
		if !m.skipped(rel) && (!ok || have.mode.Type() != m.n.disk.live[p].mode.Type()) {
			gone = append(gone, p)
		}
	}
	slices.Reverse(gone)
	return gone
}

func (m *mirrored) copy(from, to, rel string) error {
	in := m.n.disk.live[from]
	have, there := m.n.disk.live[to]
	if !in.isDir() {
		m.stats.Files++
	}
	same := there && have.mode == in.mode && have.link == in.link && len(have.data) == len(in.data) &&
		(in.isDir() || have.mtime.Equal(in.mtime))
	if same && (in.isDir() || !listed(m.r.Always, rel)) {
		return nil
	}
	if !in.isDir() {
		if err := m.n.op("trees.copy", to); err != nil {
			return err
		}
		m.stats.Copied++
		m.stats.Bytes += int64(len(in.data))
	}
	return m.n.disk.put(to, in, false)
}

func (m *mirrored) skipped(rel string) bool { return listed(m.r.Skip, rel) }

// listed says that rel is one of the paths or below one of them.
func listed(paths []string, rel string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return within(path.Join("/", rel), path.Clean(path.Join("/", p)))
	})
}

func (t trees) Usage(_ context.Context, p string) (host.Size, error) {
	n := t.n
	n.lock()
	defer n.mu.Unlock()
	at, _, err := n.look(p, true)
	if err != nil {
		return host.Size{}, err
	}
	var sum host.Size
	for _, f := range n.disk.under(at) {
		sum.Bytes += int64(len(n.disk.live[f].data))
		sum.Inodes++
	}
	return sum, nil
}

func (t trees) Free(string) (host.Size, error) {
	t.n.lock()
	defer t.n.mu.Unlock()
	inodes := t.n.options.FreeInodes
	if inodes == 0 {
		inodes = math.MaxInt64
	}
	return host.Size{Bytes: t.n.disk.free, Inodes: inodes}, nil
}

func (t trees) Shares(p string) (bool, error) {
	t.n.lock()
	defer t.n.mu.Unlock()
	if _, _, err := t.n.look(p, true); err != nil {
		return false, err
	}
	return t.n.options.Reflinks, nil
}

// Sync flushes the one filesystem of the node.
func (t trees) Sync(p string) error {
	t.n.lock()
	defer t.n.mu.Unlock()
	if _, _, err := t.n.look(p, true); err != nil {
		return err
	}
	if err := t.n.op("trees.sync", p); err != nil {
		return err
	}
	t.n.disk.sync()
	return nil
}
