package hosttest

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// inode is a file, folder or link on the disk. Its data is never changed in place.
type inode struct {
	mode  fs.FileMode // type bits included
	data  []byte
	link  string // target, where mode says fs.ModeSymlink
	mtime time.Time
}

func (i inode) isDir() bool  { return i.mode.IsDir() }
func (i inode) isLink() bool { return i.mode&fs.ModeSymlink != 0 }

// disk holds the one filesystem of the node by physical path. live is what
// programs see; durable is what a power cut leaves.
type disk struct {
	live, durable map[string]inode
	// tick is the filesystem's clock; each change moves it on, so that no two files share a time.
	tick time.Time
	free int64
}

func newDisk(free int64) *disk {
	root := inode{mode: fs.ModeDir | 0o755}
	return &disk{
		live: map[string]inode{"/": root}, durable: map[string]inode{"/": root},
		tick: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), free: free,
	}
}

func (d *disk) now() time.Time {
	d.tick = d.tick.Add(time.Second)
	return d.tick
}

// put sets an entry; where sync is false it is lost at the next power cut
// unless sync() was called first.
func (d *disk) put(at string, in inode, sync bool) error {
	grow := int64(len(in.data)) - int64(len(d.live[at].data))
	if grow > 0 && grow > d.free {
		return &fs.PathError{Op: "write", Path: at, Err: syscall.ENOSPC}
	}
	if in.mtime.IsZero() {
		in.mtime = d.now()
	}
	if err := d.mkdirs(path.Dir(at), sync); err != nil {
		return err
	}
	d.free -= grow
	d.live[at] = in
	if sync {
		d.durable[at] = in
	}
	return nil
}

// mkdirs makes missing folders, private to root.
func (d *disk) mkdirs(at string, sync bool) error {
	for p := at; ; p = path.Dir(p) {
		have, ok := d.live[p]
		switch {
		case ok && !have.isDir():
			return &fs.PathError{Op: "mkdir", Path: p, Err: syscall.ENOTDIR}
		case !ok:
			have = inode{mode: fs.ModeDir | 0o700, mtime: d.now()}
			d.live[p] = have
		}
		if sync {
			if _, there := d.durable[p]; !there {
				d.durable[p] = have
			}
		}
		if p == "/" {
			return nil
		}
	}
}

// remove deletes one entry.
func (d *disk) remove(at string, sync bool) {
	d.free += int64(len(d.live[at].data))
	delete(d.live, at)
	if sync {
		delete(d.durable, at)
	}
}

// under lists at and everything below it, parents first.
func (d *disk) under(at string) []string {
	var all []string
	for p := range d.live {
		if within(p, at) {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// children names the entries of a folder.
func (d *disk) children(at string) []string {
	var names []string
	folder := strings.TrimSuffix(at, "/") + "/"
	for p := range d.live {
		if name, ok := strings.CutPrefix(p, folder); ok && name != "" && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sync makes everything durable.
func (d *disk) sync() { d.durable = maps.Clone(d.live) }

// lose is a power cut: what is not durable goes. With torn, new files whose data was
// still in memory keep their names and are empty, as journaling filesystems leave them.
func (d *disk) lose(torn bool) {
	left := maps.Clone(d.durable)
	if torn {
		for p, in := range d.live {
			if _, ok := left[p]; !ok && !volatile(p) {
				in.data = nil
				left[p] = in
			}
		}
	}
	d.free += size(d.live) - size(left)
	d.live, d.durable = left, maps.Clone(left)
}

func size(entries map[string]inode) (bytes int64) {
	for _, in := range entries {
		bytes += int64(len(in.data))
	}
	return bytes
}

// dropVolatile empties /run and its like.
func (d *disk) dropVolatile() {
	for p := range d.live {
		if volatile(p) {
			delete(d.live, p)
			delete(d.durable, p)
		}
	}
}

func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}
