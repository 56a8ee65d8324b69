package recert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

var errPowerCut = errors.New("power cut")

// world is a node in memory: its files, its store, and a power supply that can fail after a number of writes.
type world struct {
	files   map[string]fakeFile
	keys    map[string]host.KeyValue
	member  host.StoreMember
	rev     int64
	budget  int // writes until the power is cut; negative: never
	writes  int
	opened  int
	ordered []string // what was written, in order
	dirs    map[string]map[string]bool
	indexed int // files in dirs
}

type fakeFile struct {
	data []byte
	mode fs.FileMode
}

func (w *world) clone() *world {
	c := *w
	c.indexed = -1
	c.files, c.keys = maps.Clone(w.files), maps.Clone(w.keys)
	c.member.PeerURLs, c.ordered = slices.Clone(w.member.PeerURLs), nil
	c.budget, c.writes = -1, 0
	return &c
}

// spend takes one write from the power supply.
func (w *world) spend(what string) error {
	if w.budget == 0 {
		return errPowerCut
	}
	w.budget--
	w.writes++
	w.ordered = append(w.ordered, what)
	return nil
}

func (w *world) Read(p string) ([]byte, error) {
	f, ok := w.files[p]
	if !ok {
		return nil, fmt.Errorf("read %s: %w", p, fs.ErrNotExist)
	}
	return slices.Clone(f.data), nil
}

func (w *world) Write(p string, data []byte, mode fs.FileMode) error {
	if err := w.spend(p); err != nil {
		return err
	}
	w.files[p] = fakeFile{slices.Clone(data), mode}
	return nil
}

func (w *world) Append(string, []byte, fs.FileMode) error { return errors.New("not used") }

func (w *world) Remove(p string) error {
	if err := w.spend("remove " + p); err != nil {
		return err
	}
	delete(w.files, p)
	w.indexed = -1
	return nil
}

func (w *world) List(dir string) ([]string, error) {
	if w.indexed != len(w.files) {
		w.indexed, w.dirs = len(w.files), map[string]map[string]bool{}
		for p := range w.files {
			for p != "/" && p != "." {
				parent := path.Dir(p)
				if w.dirs[parent] == nil {
					w.dirs[parent] = map[string]bool{}
				}
				w.dirs[parent][path.Base(p)] = true
				p = parent
			}
		}
	}
	return slices.Sorted(maps.Keys(w.dirs[dir])), nil
}

func (w *world) Stat(p string) (fs.FileInfo, error) {
	if f, ok := w.files[p]; ok {
		return fakeInfo{path.Base(p), int64(len(f.data)), f.mode}, nil
	}
	if entries, _ := w.List(p); len(entries) > 0 {
		return fakeInfo{path.Base(p), 0, fs.ModeDir | 0o755}, nil
	}
	return nil, fmt.Errorf("stat %s: %w", p, fs.ErrNotExist)
}

type fakeInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i fakeInfo) Name() string { return i.name }

func (i fakeInfo) Size() int64 { return i.size }

func (i fakeInfo) Mode() fs.FileMode { return i.mode }

func (i fakeInfo) ModTime() time.Time { return time.Time{} }

func (i fakeInfo) IsDir() bool { return i.mode.IsDir() }

func (i fakeInfo) Sys() any { return nil }

// Open makes the world its own store.
func (w *world) Open(context.Context) (host.OpenKeystore, error) {
	w.opened++
	return w, nil
}

func (w *world) Range(_ context.Context, prefix string, fn func(host.KeyValue) error) error {
	for _, k := range slices.Sorted(maps.Keys(w.keys)) {
		if strings.HasPrefix(k, prefix) {
			if err := fn(w.keys[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Commit is as cruel as the port allows: the power may fail after any single edit.
func (w *world) Commit(_ context.Context, edits []host.Edit) error {
	for _, e := range edits {
		if w.keys[e.Key].ModRevision != e.ModRevision {
			return fmt.Errorf("%s changed", e.Key)
		}
		if err := w.spend(e.Key); err != nil {
			return err
		}
		w.rev++
		if e.Delete {
			delete(w.keys, e.Key)
			continue
		}
		w.keys[e.Key] = host.KeyValue{Key: e.Key, Value: slices.Clone(e.Value), ModRevision: w.rev}
	}
	return nil
}

func (w *world) Members(context.Context) ([]host.StoreMember, error) {
	return []host.StoreMember{w.member}, nil
}

func (w *world) UpdateMember(_ context.Context, id uint64, urls []string) error {
	if err := w.spend("member"); err != nil {
		return err
	}
	w.member.PeerURLs = slices.Clone(urls)
	return nil
}

func (w *world) Defragment(context.Context) error { return w.spend("defragment") }

func (w *world) Close(context.Context) error { return nil }
