package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// maxFile is the largest file that is read; what carries addresses is far smaller.
const maxFile = 8 << 20

// File is a file that changes, or holds a certificate to re-issue.
type File struct {
	Path    string
	Mode    fs.FileMode
	Text    string
	Changed bool
	// MovesTo is the path that the file gets, if another.
	MovesTo string
}

// readDisk visits the configured folders and files; a missing one is no error.
func (s *Survey) readDisk(ctx context.Context, files host.Files) error {
	seen := map[string]bool{}
	roots := slices.Concat(s.Config.Dirs, s.Config.Files, slices.Sorted(maps.Keys(rules.MachineFiles(s.Config))))
	for _, root := range roots {
		if err := s.readPath(ctx, files, root, seen); err != nil {
			return err
		}
	}
	return nil
}

func (s *Survey) readPath(ctx context.Context, files host.Files, at string, seen map[string]bool) error {
	if seen[at] || slices.Contains(rules.SkippedDirs(), at) {
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
		return fmt.Errorf("stat %s: %w", at, err)
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
	if !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() > maxFile {
		s.NotRead = append(s.NotRead, Note{at, fmt.Sprintf("is larger than %d MiB", maxFile>>20)})
		return nil
	}
	return s.readFile(files, at, info)
}

func (s *Survey) readFile(files host.Files, at string, info fs.FileInfo) error {
	data, err := files.Read(at)
	if err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	f := &File{Path: at, Mode: info.Mode().Perm(), Text: string(data)}
	s.Seen[at] = true
	settled := s.Record.Settled(at, data)
	if !settled {
		if err := s.applyDiskRules(f); err != nil {
			return fmt.Errorf("apply the rules to %s: %w", at, err)
		}
	}
	if to, ok := s.Mapping.Node.File(path.Base(at)); ok && path.Base(path.Dir(at)) == "etcd-all-certs" {
		f.MovesTo, f.Changed = path.Join(path.Dir(at), to), true
		s.AddChange(Rename, at, "becomes "+f.MovesTo)
	}
	crypto := rules.IsCryptoFile(at) || s.Config.NewKeys
	affected := crypto && s.PKI.Collect(certs.Place{Container: path.Dir(at), Where: at}, f.Text, settled)
	where := func() string { return at }
	if crypto || path.Base(at) == "token" {
		s.collectTokens(where, f.Text)
		affected = affected || s.Config.NewKeys && MayHoldCredentials(f.Text)
	}
	s.reportLeftover(where, f.Text)
	if f.Changed || affected {
		s.Files = append(s.Files, f)
	}
	return nil
}

func (s *Survey) applyDiskRules(f *File) error {
	if err := s.applySite(f); err != nil {
		return err
	}
	for _, r := range s.rules.Disk {
		if !rules.MatchTail(r.Tail, f.Path) {
			continue
		}
		mapped, err := r.In(s.Mapping, f.Text)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		if mapped != f.Text {
			f.Text, f.Changed = mapped, true
			s.AddChange(Rewrite, f.Path, r.Why)
			s.byAddress[f.Path] = true
		}
	}
	return nil
}

// applySite writes the files that the configuration replaces, and their copies in the machine's configuration.
func (s *Survey) applySite(f *File) error {
	text, why := f.Text, "file of the machine's configuration"
	if want, ok := rules.MachineFiles(s.Config)[f.Path]; ok {
		text, why = want, "replaced by the configuration"
	} else if base := path.Base(f.Path); base == "currentconfig" || base == "mcs-machine-config-content.json" {
		edited, err := rules.EditMachineDocument(s.Config, f.Text)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		text = edited
	}
	if text != f.Text {
		f.Text, f.Changed = text, true
		s.AddChange(Rewrite, f.Path, why)
	}
	return nil
}
