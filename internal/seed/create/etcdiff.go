package create

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// etcDiff is how an /etc differs from that of its commit. Paths are relative to it. In Deleted a folder comes after its content:
// who removes path by path removes it empty.
type etcDiff struct{ Changed, Deleted []string }

// compareEtc compares an /etc with the /usr/etc that it came from. A link counts as changed: its target shows nowhere.
func compareEtc(files host.Files, etc, origin string) (d etcDiff, err error) {
	if err := d.compareFolder(files, etc, origin, "."); err != nil {
		return d, fmt.Errorf("compare /etc with that of the system: %w", err)
	}
	slices.Sort(d.Changed)
	slices.Sort(d.Deleted)
	slices.Reverse(d.Deleted)
	return d, nil
}

func (d *etcDiff) compareFolder(files host.Files, etc, origin, rel string) error {
	have, err := files.List(path.Join(etc, rel))
	if err != nil {
		return err
	}
	was, err := files.List(path.Join(origin, rel))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range was {
		if slices.Contains(have, name) {
			continue
		}
		if err := d.addDeleted(files, origin, path.Join(rel, name)); err != nil {
			return err
		}
	}
	for _, name := range have {
		if err := d.compareEntry(files, etc, origin, path.Join(rel, name), slices.Contains(was, name)); err != nil {
			return err
		}
	}
	return nil
}

// addDeleted adds what is gone, with its content.
func (d *etcDiff) addDeleted(files host.Files, origin, rel string) error {
	d.Deleted = append(d.Deleted, rel)
	at := path.Join(origin, rel)
	info, err := files.Stat(at)
	if err != nil || !info.IsDir() {
		return err
	}
	names, err := files.List(at)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := d.addDeleted(files, origin, path.Join(rel, name)); err != nil {
			return err
		}
	}
	return nil
}

func (d *etcDiff) compareEntry(files host.Files, etc, origin, rel string, known bool) error {
	now, err := files.Stat(path.Join(etc, rel))
	if err != nil {
		return err
	}
	var old fs.FileInfo
	if known {
		if old, err = files.Stat(path.Join(origin, rel)); err != nil {
			return err
		}
	}
	switch {
	case now.IsDir():
		if old == nil || !old.IsDir() || old.Mode() != now.Mode() {
			d.Changed = append(d.Changed, rel)
			origin = path.Join(origin, "none") // all of it is new
		}
		return d.compareFolder(files, etc, origin, rel)
	case old == nil, !now.Mode().IsRegular(), now.Mode() != old.Mode(), now.Size() != old.Size():
		d.Changed = append(d.Changed, rel)
		return nil
	}
	a, err := files.Read(path.Join(etc, rel))
	if err != nil {
		return err
	}
	b, err := files.Read(path.Join(origin, rel))
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		d.Changed = append(d.Changed, rel)
	}
	return nil
}
