package nmtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// durable holds what is on the disk for certain: a power cut leaves this and nothing else of the kept folders. It is below
// /run, which all processes of a test share.
const durable = "/run/nmtest-disk"

// kept are the folders on the disk that NetworkManager writes to. It flushes none of its files, and no folder after a
// rename or removal, so that only what Disk flushes survives a power cut, and what Sync does.
var kept = []string{"/etc/NetworkManager", "/var/lib/NetworkManager"}

func isKept(path string) bool {
	return slices.ContainsFunc(kept, func(k string) bool { return path == k || strings.HasPrefix(path, k+"/") })
}

// Sync makes all that was written durable, as the kernel does by itself some time later.
func (n *Node) Sync() {
	n.t.Helper()
	for _, k := range kept {
		n.must(os.RemoveAll(durable + k))
		n.must(copyTree(k, durable+k))
	}
}

// PowerCut ends NetworkManager and takes away all that does not survive a reboot: /run, links, addresses, and what was
// written and not flushed. StartNM then boots again; make the links first.
func (n *Node) PowerCut() {
	n.t.Helper()
	if n.nm != nil {
		n.KillNM()
	}
	n.must(os.RemoveAll("/run/NetworkManager"))
	for _, k := range kept {
		entries, err := os.ReadDir(k)
		n.must(err)
		for _, e := range entries {
			n.must(os.RemoveAll(filepath.Join(k, e.Name())))
		}
		n.must(copyTree(durable+k, k))
	}
	n.removeLinks()
}

// flushFile makes a file durable, with its name.
func flushFile(path string) error {
	if !isKept(path) {
		return nil
	}
	if err := os.MkdirAll(durable+filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := copyFile(path, durable+path); err != nil {
		return err
	}
	return flushFolder(filepath.Dir(path))
}

// flushFolder makes the names in a folder durable, and of the files only that they exist: the data of one that was not
// flushed itself may be missing.
func flushFolder(dir string) error {
	if !isKept(dir) {
		return nil
	}
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := removeStale(dir); err != nil {
		return err
	}
	for _, e := range names {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			err = os.MkdirAll(durable+path, 0o755)
		case e.Type().IsRegular() && !sameFile(path, durable+path):
			err = os.WriteFile(durable+path, nil, 0o600)
		case !e.Type().IsRegular():
			err = copyFile(path, durable+path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeStale removes what is gone from a folder.
func removeStale(dir string) error {
	if err := os.MkdirAll(durable+dir, 0o755); err != nil {
		return err
	}
	names, err := os.ReadDir(durable + dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		if _, err := os.Lstat(filepath.Join(dir, e.Name())); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(durable+dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func sameFile(a, b string) bool {
	have, err := os.ReadFile(a)
	if err != nil {
		return false
	}
	other, err := os.ReadFile(b)
	return err == nil && string(have) == string(other)
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a temporary file of a running NetworkManager, or a folder that was never there
		}
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		if e.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		return copyFile(path, target)
	})
}

// copyFile copies a file with its mode, or a symbolic link.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}
