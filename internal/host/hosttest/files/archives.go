package files

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// Archives returns the machine's host.Archives. Its format is a JSON list of the files.
func Archives(n *machine.Machine) host.Archives { return archives{n} }

type archives struct{ n *machine.Machine }

// archived is a file in the fake's archive.
type archived struct {
	Name string
	Mode fs.FileMode
	Link string
	Data []byte
}

func (a archives) Pack(_ context.Context, r host.ArchiveRequest, to io.Writer) (host.ArchiveStats, error) {
	a.n.Enter()
	at, err := a.n.Resolve(r.Dir, true)
	if err == nil && !a.n.Disk.Live[at].IsDir() {
		err = &fs.PathError{Op: "open", Path: r.Dir, Err: fs.ErrNotExist}
	}
	if err != nil {
		a.n.Unlock()
		return host.ArchiveStats{}, fmt.Errorf("archive %s: %w", r.Dir, err)
	}
	var all []archived
	for _, p := range a.n.Disk.Under(at) {
		rel := strings.TrimPrefix(strings.TrimPrefix(p, at), "/")
		if in := a.n.Disk.Live[p]; rel == "" || wanted(r, rel, in.IsDir()) {
			all = append(all, archived{path.Join(r.Prefix, rel), in.Mode, in.Link, in.Data})
		}
	}
	a.n.Unlock()
	sums(all, r.Sum)
	data, err := json.Marshal(all)
	if err != nil {
		return host.ArchiveStats{}, err
	}
	size := host.ArchiveSize{Bytes: int64(len(data)), Content: contentOf(all)}
	_, err = to.Write(data)
	return host.ArchiveStats{Files: len(all), ArchiveSize: size}, err
}

func wanted(r host.ArchiveRequest, rel string, dir bool) bool {
	above := func(list []string) bool {
		return dir && slices.ContainsFunc(list, func(o string) bool { return machine.Within(path.Join("/", o), path.Join("/", rel)) })
	}
	kept := slices.Contains(r.Keep, rel) || above(r.Keep)
	inEmpty := slices.ContainsFunc(r.Empty, func(e string) bool { return e != rel && listed([]string{e}, rel) })
	switch {
	case listed(r.Skip, rel), slices.Contains(r.SkipNames, path.Base(rel)), inEmpty && !kept:
		return false
	case r.Only != nil:
		return slices.Contains(r.Only, rel) || above(r.Only)
	}
	return true
}

func sums(all []archived, sum func(string, [32]byte)) {
	for _, f := range all {
		if sum != nil && f.Mode.IsRegular() {
			sum(f.Name, sha256.Sum256(f.Data))
		}
	}
}

func contentOf(all []archived) (n int64) {
	for _, f := range all {
		n += int64(len(f.Data))
	}
	return n
}

// read is what Unpack and Verify have in common.
func (archives) read(from io.Reader, r host.ArchiveReading) (all []archived, err error) {
	data, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for _, f := range all {
		if !fs.ValidPath(f.Name) {
			return nil, fmt.Errorf("the name %q leads out of the folder", f.Name)
		}
	}
	have := host.ArchiveSize{Bytes: int64(len(data)), Content: contentOf(all)}
	if r.Size.Bytes > 0 && r.Size.Bytes != have.Bytes || r.Size.Content > 0 && r.Size.Content != have.Content {
		return nil, fmt.Errorf("the archive holds %+v, declared are %+v", have, r.Size)
	}
	return all, nil
}

func (a archives) Verify(_ context.Context, from io.Reader, r host.ArchiveReading) error {
	all, err := a.read(from, r)
	if err != nil {
		return fmt.Errorf("verify the archive: %w", err)
	}
	sums(all, r.Sum)
	return nil
}

func (a archives) Unpack(_ context.Context, dir string, from io.Reader, r host.ArchiveReading) error {
	all, err := a.read(from, r)
	if err != nil {
		return fmt.Errorf("unpack into %s: %w", dir, err)
	}
	a.n.Enter()
	defer a.n.Unlock()
	at, err := a.n.Resolve(dir, true)
	if err != nil {
		return err
	}
	for _, f := range all {
		to := path.Join(at, f.Name)
		if err := a.n.Change("archives.unpack", to); err != nil {
			return err
		}
		if err := a.n.Disk.Put(to, machine.Inode{Mode: f.Mode, Link: f.Link, Data: f.Data}, false); err != nil {
			return err
		}
	}
	sums(all, r.Sum)
	return nil
}
