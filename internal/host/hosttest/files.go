package hosttest

import (
	"io/fs"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Files is the node's host.Files. It also has Symlink, which the contract uses.
func (n *Node) Files() host.Files { return files{n} }

type files struct{ n *Node }

func (f files) Read(p string) ([]byte, error) {
	f.n.lock()
	defer f.n.mu.Unlock()
	return f.n.readFile(p)
}

func (n *Node) readFile(p string) ([]byte, error) {
	_, in, err := n.look(p, true)
	if err != nil {
		return nil, err
	}
	if in.isDir() {
		return nil, &fs.PathError{Op: "read", Path: p, Err: syscall.EISDIR}
	}
	return slices.Clone(in.data), nil
}

// writable resolves a place that is about to be replaced.
func (n *Node) writable(p string, follow bool) (string, error) {
	at, err := n.resolve(p, follow)
	if err != nil {
		return "", err
	}
	if n.readOnly(at) {
		return "", &fs.PathError{Op: "write", Path: p, Err: syscall.EROFS}
	}
	if n.disk.live[at].isDir() {
		return "", &fs.PathError{Op: "write", Path: p, Err: syscall.EISDIR}
	}
	return at, nil
}

func (f files) Write(p string, data []byte, mode fs.FileMode) error {
	f.n.lock()
	defer f.n.mu.Unlock()
	at, err := f.n.writable(p, true)
	if err != nil {
		return err
	}
	if err := f.n.op("files.write", p); err != nil {
		return err
	}
	return f.n.disk.put(at, inode{mode: mode.Perm(), data: slices.Clone(data)}, true)
}

// Append writes the record in two halves, so that a power cut can tear it.
func (f files) Append(p string, data []byte, mode fs.FileMode) error {
	f.n.lock()
	defer f.n.mu.Unlock()
	at, err := f.n.writable(p, true)
	if err != nil {
		return err
	}
	in, ok := f.n.disk.live[at]
	if !ok {
		in.mode = mode.Perm()
	}
	in.mtime = time.Time{}
	half := len(data) / 2
	for _, piece := range [][]byte{data[:half], data[half:]} {
		if err := f.n.op("files.append", p); err != nil {
			return err
		}
		in.data = append(slices.Clone(in.data), piece...)
		if err := f.n.disk.put(at, in, true); err != nil {
			return err
		}
	}
	return nil
}

func (f files) Remove(p string) error {
	f.n.lock()
	defer f.n.mu.Unlock()
	at, err := f.n.resolve(p, false)
	if err != nil {
		return err
	}
	if path.Clean(p) == "/" {
		return &fs.PathError{Op: "remove", Path: p, Err: syscall.EBUSY}
	}
	if f.n.readOnly(at) {
		return &fs.PathError{Op: "remove", Path: p, Err: syscall.EROFS}
	}
	return f.n.removeTree("files.remove", at)
}

// removeTree deletes a tree entry by entry, the deepest first.
func (n *Node) removeTree(op, at string) error {
	all := n.disk.under(at)
	slices.Reverse(all)
	for _, p := range all {
		if err := n.op(op, p); err != nil {
			return err
		}
		n.disk.remove(p, true)
	}
	return nil
}

func (f files) List(p string) ([]string, error) {
	f.n.lock()
	defer f.n.mu.Unlock()
	at, err := f.n.resolve(p, true)
	if err != nil {
		return nil, err
	}
	if in, ok := f.n.disk.live[at]; ok && !in.isDir() {
		return nil, &fs.PathError{Op: "list", Path: p, Err: syscall.ENOTDIR}
	}
	return f.n.disk.children(at), nil
}

func (f files) Stat(p string) (fs.FileInfo, error) {
	f.n.lock()
	defer f.n.mu.Unlock()
	_, in, err := f.n.look(p, false)
	if err != nil {
		return nil, err
	}
	return info{path.Base(p), in}, nil
}

// Symlink makes a link on the node.
func (f files) Symlink(target, p string) error {
	f.n.lock()
	defer f.n.mu.Unlock()
	at, err := f.n.writable(p, false)
	if err != nil {
		return err
	}
	if err := f.n.op("files.symlink", p); err != nil {
		return err
	}
	return f.n.disk.put(at, inode{mode: fs.ModeSymlink | 0o777, link: target}, true)
}

// info is an inode as fs.FileInfo.
type info struct {
	name string
	in   inode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(len(i.in.data)) }
func (i info) Mode() fs.FileMode  { return i.in.mode }
func (i info) ModTime() time.Time { return i.in.mtime }
func (i info) IsDir() bool        { return i.in.isDir() }
func (i info) Sys() any           { return nil }
