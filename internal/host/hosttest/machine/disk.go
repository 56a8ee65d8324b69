package machine

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Inode is a file, folder or link on the disk. Its data is never changed in place.
type Inode struct {
	Mode  fs.FileMode // type bits included
	Data  []byte
	Link  string // target, where mode says fs.ModeSymlink
	MTime time.Time
}

// Text is a file that everybody may read.
func Text(s string) Inode { return Inode{Mode: 0o644, Data: []byte(s)} }

// Secret is a file for root alone.
func Secret(s string) Inode { return Inode{Mode: 0o600, Data: []byte(s)} }

// Symlink is a link.
func Symlink(to string) Inode { return Inode{Mode: fs.ModeSymlink | 0o777, Link: to} }

// IsDir says that the entry is a folder.
func (i Inode) IsDir() bool  { return i.Mode.IsDir() }
func (i Inode) isLink() bool { return i.Mode&fs.ModeSymlink != 0 }

// Disk holds the one filesystem of the node by physical path. Live is what
// programs see; Durable is what a power cut leaves.
type Disk struct {
	Live, Durable map[string]Inode
	// tick is the filesystem's clock; each change moves it on, so that no two files share a time.
	tick time.Time
	// Free is the room left in bytes.
	Free int64
}

func newDisk(free int64) *Disk {
	root := Inode{Mode: fs.ModeDir | 0o755}
	return &Disk{
		Live: map[string]Inode{"/": root}, Durable: map[string]Inode{"/": root},
		tick: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), Free: free,
	}
}

func (d *Disk) now() time.Time {
	d.tick = d.tick.Add(time.Second)
	return d.tick
}

// Put sets an entry; where sync is false it is lost at the next power cut
// unless Sync was called first.
func (d *Disk) Put(at string, in Inode, sync bool) error {
	grow := int64(len(in.Data)) - int64(len(d.Live[at].Data))
	if grow > 0 && grow > d.Free {
		return &fs.PathError{Op: "write", Path: at, Err: syscall.ENOSPC}
	}
	if in.MTime.IsZero() {
		in.MTime = d.now()
	}
	if err := d.Mkdirs(path.Dir(at), sync); err != nil {
		return err
	}
	d.Free -= grow
	d.Live[at] = in
	if sync {
		d.Durable[at] = in
	}
	return nil
}

// Mkdirs makes missing folders, private to root.
func (d *Disk) Mkdirs(at string, sync bool) error {
	for p := at; ; p = path.Dir(p) {
		have, ok := d.Live[p]
		switch {
		case ok && !have.IsDir():
			return &fs.PathError{Op: "mkdir", Path: p, Err: syscall.ENOTDIR}
		case !ok:
			have = Inode{Mode: fs.ModeDir | 0o700, MTime: d.now()}
			d.Live[p] = have
		}
		if sync {
			if _, there := d.Durable[p]; !there {
				d.Durable[p] = have
			}
		}
		if p == "/" {
			return nil
		}
	}
}

// Remove deletes one entry.
func (d *Disk) Remove(at string, sync bool) {
	d.Free += int64(len(d.Live[at].Data))
	delete(d.Live, at)
	if sync {
		delete(d.Durable, at)
	}
}

// Under lists at and everything below it, parents first.
func (d *Disk) Under(at string) []string {
	var all []string
	for p := range d.Live {
		if Within(p, at) {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// Children names the entries of a folder.
func (d *Disk) Children(at string) []string {
	var names []string
	folder := strings.TrimSuffix(at, "/") + "/"
	for p := range d.Live {
		if name, ok := strings.CutPrefix(p, folder); ok && name != "" && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Sync makes everything durable.
func (d *Disk) Sync() { d.Durable = maps.Clone(d.Live) }

// Lose is a power cut: what is not durable goes. With torn, new files whose data was
// still in memory keep their names and are empty, as journaling filesystems leave them.
func (d *Disk) Lose(torn bool) {
	left := maps.Clone(d.Durable)
	if torn {
		for p, in := range d.Live {
			if _, ok := left[p]; !ok && !Volatile(p) {
				in.Data = nil
				left[p] = in
			}
		}
	}
	d.Free += size(d.Live) - size(left)
	d.Live, d.Durable = left, maps.Clone(left)
}

func size(entries map[string]Inode) (bytes int64) {
	for _, in := range entries {
		bytes += int64(len(in.Data))
	}
	return bytes
}

// DropVolatile empties /run and its like.
func (d *Disk) DropVolatile() {
	for p := range d.Live {
		if Volatile(p) {
			delete(d.Live, p)
			delete(d.Durable, p)
		}
	}
}

// Within says that p is dir or lies below it.
func Within(p, dir string) bool {
	return p == dir || dir == "/" || len(p) > len(dir) && p[len(dir)] == '/' && strings.HasPrefix(p, dir)
}
