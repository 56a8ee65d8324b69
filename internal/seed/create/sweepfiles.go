package create

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

// sweepFiles examines the files that the image ships. Of those to change only the names are kept, so that memory does not grow with them.
func (s *sweep) sweepFiles(ctx context.Context) error {
	var affected []string
	look := func(file string, info fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		action, _, err := s.examineFile(file, info)
		if action != secretscan.LeaveFile {
			affected = append(affected, file)
		}
		return err
	}
	if err := s.walkShipped(look); err != nil {
		return fmt.Errorf("search the files of the copy for secrets: %w", err)
	}
	if err := s.saveFound(); err != nil {
		return err
	}
	again := &sweep{s.generation, secretscan.New(s.scan.Rulings, s.scan.Seen)} // what it finds is reported already
	for _, file := range affected {
		if err := again.cleanFile(file); err != nil {
			return fmt.Errorf("remove secrets from %s of the copy: %w", file, err)
		}
	}
	return nil
}

// examineFile says what becomes of a file, and what it gets.
func (s *sweep) examineFile(file string, info fs.FileInfo) (secretscan.FileAction, []byte, error) {
	if action := s.scan.Placed(file); action != secretscan.LeaveFile {
		return action, []byte(secretscan.Placeholder), nil
	}
	if info.Size() > secretscan.EditLimit {
		from, err := s.Copies.Open(s.systemDir(), file)
		if err != nil {
			return secretscan.LeaveFile, nil, err
		}
		action, err := s.scan.LargeFile(file, from)
		return action, []byte(secretscan.Placeholder), errors.Join(err, from.Close())
	}
	data, err := s.Copies.Files(s.systemDir()).Read(file)
	if err != nil {
		return secretscan.LeaveFile, nil, err
	}
	out, action := s.scan.File(file, data)
	return action, out, nil
}

// cleanFile rewrites or removes a file. One that a MachineConfig wrote is not removed: the machine config daemon would miss it.
func (s *sweep) cleanFile(file string) error {
	files := s.Copies.Files(s.systemDir())
	info, err := files.Stat(file)
	if err != nil {
		return err
	}
	action, out, err := s.examineFile(file, info)
	if err != nil || action == secretscan.LeaveFile {
		return err
	}
	if action == secretscan.RemoveFile {
		if err := s.removePath(files, file); err != nil {
			return err
		}
		left, err := files.Stat(file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !s.isOwned(file) && left.Mode().IsRegular() {
			return nil // or it is as the system itself has it
		}
		if err != nil {
			return err
		}
	}
	return files.Write(file, out, info.Mode().Perm())
}

func (s *sweep) isOwned(file string) bool {
	config, err := bringup.ReadMachineConfig(s.Files)
	return err == nil && config.Owned[file]
}

// walkShipped calls see with the regular files of the copy that the image has.
func (s *sweep) walkShipped(see func(file string, info fs.FileInfo) error) error {
	files := s.Copies.Files(s.systemDir())
	diff, err := compareEtc(s.Files, path.Join(s.systemDir(), "etc"), s.booted.InDeployment("/usr/etc"))
	if err != nil {
		return err
	}
	for _, rel := range diff.Changed {
		file := path.Join("/etc", rel)
		info, err := files.Stat(file)
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			if err := see(file, info); err != nil {
				return err
			}
		}
	}
	owned, err := s.ownedFiles()
	if err != nil {
		return err
	}
	return walkFiles(files, "/var", func(at string) bool { return staysBehind(strings.TrimPrefix(at, "/var/"), owned) }, see)
}

// staysBehind reports whether a path below /var is in no image, or has been examined otherwise.
func staysBehind(rel string, owned []string) bool {
	if rel == strings.TrimPrefix(host.EtcdData, "/var/") || slices.Contains(leftOut, rel) || slices.Contains(leftNames, path.Base(rel)) {
		return true
	}
	return slices.Contains(emptied, path.Dir(rel)) &&
		!slices.ContainsFunc(owned, func(o string) bool { return o == rel || strings.HasPrefix(o, rel+"/") })
}

// walkFiles calls see with the regular files below a folder, in order.
func walkFiles(files host.Files, dir string, skip func(at string) bool, see func(file string, info fs.FileInfo) error) error {
	names, err := files.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		at := path.Join(dir, name)
		if skip != nil && skip(at) {
			continue
		}
		info, err := files.Stat(at)
		switch {
		case err != nil:
			return err
		case info.IsDir():
			err = walkFiles(files, at, skip, see)
		case info.Mode().IsRegular():
			err = see(at, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
