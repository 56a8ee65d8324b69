package recert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// maxFile is the largest file that is read; what carries addresses is far smaller.
const maxFile = 8 << 20

// diskFile is a file that changes, or holds a certificate to re-issue.
type diskFile struct {
	path    string
	mode    fs.FileMode
	text    string
	changed bool
	// movesTo is the path that the file gets, if another.
	movesTo string
}

// readDisk visits the configured folders and files. A missing one is no error: not every node has them all.
func (s *scan) readDisk(ctx context.Context, files host.Files) error {
	seen := map[string]bool{}
	roots := slices.Concat(s.cfg.Dirs, s.cfg.Files, slices.Sorted(maps.Keys(s.cfg.machineFiles())))
	for _, root := range roots {
		if err := s.readPath(ctx, files, root, seen); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) readPath(ctx context.Context, files host.Files, at string, seen map[string]bool) error {
	if seen[at] || slices.Contains(skippedDirs(), at) {
		return nil
	}
	seen[at] = true
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := files.Stat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", at, err)
	}
	if info.IsDir() {
		entries, err := files.List(at)
		if err != nil {
			return fmt.Errorf("list %s: %w", at, err)
		}
		for _, name := range entries {
			if err := s.readPath(ctx, files, path.Join(at, name), seen); err != nil {
				return err
			}
		}
		return nil
	}
	// A link is skipped: what it leads to is found by its own name, and a write would replace the link.
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil
	}
	return s.readFile(files, at, info)
}

func (s *scan) readFile(files host.Files, at string, info fs.FileInfo) error {
	data, err := files.Read(at)
	if err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	f := &diskFile{path: at, mode: info.Mode().Perm(), text: string(data)}
	s.met[at] = true
	settled := s.resume.settled(at, data)
	if !settled {
		if err := s.applyDiskRules(f); err != nil {
			return err
		}
	}
	if to, ok := s.mapping.node.file(path.Base(at)); ok && path.Base(path.Dir(at)) == "etcd-all-certs" {
		f.movesTo, f.changed = path.Join(path.Dir(at), to), true
		s.plan.Changes = append(s.plan.Changes, Change{Rename, at, "becomes " + f.movesTo})
	}
	affected := isCryptoFile(at) && s.pki.collect(place{container: path.Dir(at), where: at}, f.text, settled)
	where := func() string { return at }
	if isCryptoFile(at) || path.Base(at) == "token" {
		s.collectTokens(where, f.text)
	}
	s.reportLeftover(where, f.text)
	if f.changed || affected {
		s.files = append(s.files, f)
	}
	return nil
}

func (s *scan) applyDiskRules(f *diskFile) error {
	if err := s.applySite(f); err != nil {
		return err
	}
	for _, r := range s.rules.disk {
		if !matchTail(r.tail, f.path) {
			continue
		}
		mapped, err := r.in(s.mapping, f.text)
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		if mapped != f.text {
			f.text, f.changed = mapped, true
			s.plan.Changes = append(s.plan.Changes, Change{Rewrite, f.path, r.why})
			s.byAddress[f.path] = true
		}
	}
	return nil
}
