// Package files has the fakes of the ports over a node's disk: its files, the mirrors of trees and archives of them.
//
// It is called by hosttest, which joins the rooms, and by the rooms whose fakes keep their data in files. Tests only: it
// imports the ports and hosttest/machine, and must not import another room.
package files

import (
	"io/fs"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// Of returns the machine's host.Files. It also has Symlink, which the contract uses.
func Of(n *machine.Machine) host.Files { return files{n} }

type files struct{ n *machine.Machine }

func (f files) Read(p string) ([]byte, error) {
	f.n.Enter()
	defer f.n.Unlock()
	return f.n.ReadFile(p)
}

// writable resolves a place that is about to be replaced.
func (f files) writable(p string, follow bool) (string, error) {
	at, err := f.n.Resolve(p, follow)
	if err != nil {
		return "", err
	}
	if f.n.ReadOnly(at) {
		return "", &fs.PathError{Op: "write", Path: p, Err: syscall.EROFS}
	}
	if f.n.Disk.Live[at].IsDir() {
		return "", &fs.PathError{Op: "write", Path: p, Err: syscall.EISDIR}
	}
	return at, nil
}

func (f files) Write(p string, data []byte, mode fs.FileMode) error {
	f.n.Enter()
	defer f.n.Unlock()
	at, err := f.writable(p, true)
	if err != nil {
		return err
	}
	if err := f.n.Change("files.write", p); err != nil {
		return err
	}
	return f.n.Disk.Put(at, machine.Inode{Mode: mode.Perm(), Data: slices.Clone(data)}, true)
}

// Append writes the record in two halves, so that a power cut can tear it.
func (f files) Append(p string, data []byte, mode fs.FileMode) error {
	f.n.Enter()
	defer f.n.Unlock()
	at, err := f.writable(p, true)
	if err != nil {
		return err
	}
	in, ok := f.n.Disk.Live[at]
	if !ok {
		in.Mode = mode.Perm()
	}
	in.MTime = time.Time{}
	half := len(data) / 2
	for _, piece := range [][]byte{data[:half], data[half:]} {
		if err := f.n.Change("files.append", p); err != nil {
			return err
		}
		in.Data = append(slices.Clone(in.Data), piece...)
		if err := f.n.Disk.Put(at, in, true); err != nil {
			return err
		}
	}
	return nil
}

func (f files) Remove(p string) error {
	f.n.Enter()
	defer f.n.Unlock()
	at, err := f.n.Resolve(p, false)
	if err != nil {
		return err
	}
	if path.Clean(p) == "/" {
		return &fs.PathError{Op: "remove", Path: p, Err: syscall.EBUSY}
	}
	if f.n.ReadOnly(at) {
		return &fs.PathError{Op: "remove", Path: p, Err: syscall.EROFS}
	}
	return f.removeTree("files.remove", at)
}

// removeTree deletes a tree entry by entry, the deepest first.
func (f files) removeTree(op, at string) error {
	all := f.n.Disk.Under(at)
	slices.Reverse(all)
	for _, p := range all {
		if err := f.n.Change(op, p); err != nil {
			return err
		}
		f.n.Disk.Remove(p, true)
	}
	return nil
}

func (f files) List(p string) ([]string, error) {
	f.n.Enter()
	defer f.n.Unlock()
	at, err := f.n.Resolve(p, true)
	if err != nil {
		return nil, err
	}
	if in, ok := f.n.Disk.Live[at]; ok && !in.IsDir() {
		return nil, &fs.PathError{Op: "list", Path: p, Err: syscall.ENOTDIR}
	}
	return f.n.Disk.Children(at), nil
}

func (f files) Stat(p string) (fs.FileInfo, error) {
	f.n.Enter()
	defer f.n.Unlock()
	_, in, err := f.n.Look(p, false)
	if err != nil {
		return nil, err
	}
	return info{path.Base(p), in}, nil
}

// Symlink makes a link on the node.
func (f files) Symlink(target, p string) error {
	f.n.Enter()
	defer f.n.Unlock()
	at, err := f.writable(p, false)
	if err != nil {
		return err
	}
	if err := f.n.Change("files.symlink", p); err != nil {
		return err
	}
	return f.n.Disk.Put(at, machine.Inode{Mode: fs.ModeSymlink | 0o777, Link: target}, true)
}

// info is an inode as fs.FileInfo.
type info struct {
	name string
	in   machine.Inode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(len(i.in.Data)) }
func (i info) Mode() fs.FileMode  { return i.in.Mode }
func (i info) ModTime() time.Time { return i.in.MTime }
func (i info) IsDir() bool        { return i.in.IsDir() }
func (i info) Sys() any           { return nil }

// Below returns the files below a folder as if that were the root.
func Below(f host.Files, root string) host.Files { return below{f, root} }

// below are files below a folder.
type below struct {
	host.Files
	root string
}

func (f below) at(p string) string { return path.Join(f.root, path.Clean("/"+p)) }

func (f below) Read(p string) ([]byte, error) { return f.Files.Read(f.at(p)) }

func (f below) Write(p string, data []byte, mode fs.FileMode) error {
	return f.Files.Write(f.at(p), data, mode)
}

func (f below) Append(p string, data []byte, mode fs.FileMode) error {
	return f.Files.Append(f.at(p), data, mode)
}
func (f below) Remove(p string) error              { return f.Files.Remove(f.at(p)) }
func (f below) List(p string) ([]string, error)    { return f.Files.List(f.at(p)) }
func (f below) Stat(p string) (fs.FileInfo, error) { return f.Files.Stat(f.at(p)) }
