package archive

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// inode tells files of one file system apart.
type inode struct{ dev, ino uint64 }

// packer writes one archive.
type packer struct {
	ctx   context.Context
	r     host.ArchiveRequest
	to    *counting
	tar   *tar.Writer
	base  string // of the tree, through a descriptor that stays open
	dev   uint64
	files int
	// content is the size of all files, holes included.
	content int64
	// first holds the name in the archive under which a file with several names came first.
	first map[inode]string
	// above holds the folders of Only and Keep and those above them.
	above map[string]bool
	only  map[string]bool
	keep  map[string]bool
	buf   []byte
}

func newPacker(ctx context.Context, r host.ArchiveRequest, to *counting) *packer {
	p := &packer{
		ctx: ctx, r: r, to: to, tar: tar.NewWriter(to), first: map[inode]string{}, above: map[string]bool{},
		only: pathSet(r.Only), keep: pathSet(r.Keep), buf: make([]byte, readSize),
	}
	for _, rel := range slices.Concat(r.Only, r.Keep) {
		for dir := path.Dir(path.Clean(rel)); dir != "." && dir != "/"; dir = path.Dir(dir) {
			p.above[dir] = true
		}
	}
	return p
}

func pathSet(paths []string) map[string]bool {
	out := make(map[string]bool, len(paths))
	for _, p := range paths {
		out[path.Clean(p)] = true
	}
	return out
}

// packTree writes everything below the open folder.
func (p *packer) packTree(top *os.File) error {
	p.base = fmt.Sprintf("/proc/self/fd/%d", top.Fd())
	info, err := os.Stat(p.base)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*unixStat)
	if !ok || !info.IsDir() {
		return errors.New("not a folder")
	}
	p.dev = st.Dev
	if err := p.writeEntry(".", info, st); err != nil {
		return err
	}
	return p.packFolder(".", false)
}

// packFolder writes what is in a folder; within one of Empty only what Keep lists.
func (p *packer) packFolder(rel string, emptied bool) error {
	entries, err := os.ReadDir(path.Join(p.base, rel)) // sorted
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		at := path.Join(rel, e.Name())
		if !p.isWanted(at, e.Name(), e.IsDir(), emptied) {
			continue
		}
		if err := p.packEntry(at, emptied); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	return nil
}

func (p *packer) isWanted(rel, name string, dir, emptied bool) bool {
	switch {
	case slices.Contains(p.r.Skip, rel), slices.Contains(p.r.SkipNames, name):
		return false
	case emptied && !p.keep[rel]:
		return dir && p.above[rel]
	case p.r.Only != nil && !p.only[rel]:
		return dir && p.above[rel]
	}
	return true
}

func (p *packer) packEntry(rel string, emptied bool) error {
	info, err := os.Lstat(path.Join(p.base, rel))
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*unixStat)
	if !ok {
		return errors.New("the file system reports no inode data for it")
	}
	if info.Mode().Type()&os.ModeSocket != 0 {
		return nil // it means nothing without its program, and tar has no such thing
	}
	if err := p.writeEntry(rel, info, st); err != nil {
		return err
	}
	if !info.IsDir() || st.Dev != p.dev {
		return nil // of a mount point, the folder alone
	}
	return p.packFolder(rel, emptied || slices.Contains(p.r.Empty, rel))
}

// archiveName is what the archive calls the file.
func (p *packer) archiveName(rel string, dir bool) string {
	name := p.r.Prefix
	switch {
	case name == "." && rel != ".":
		name = "./" + rel
	case rel != ".":
		name = path.Join(name, rel)
	}
	if dir {
		name += "/"
	}
	return name
}

// writeEntry writes one entry with its content.
func (p *packer) writeEntry(rel string, info os.FileInfo, st *unixStat) error {
	full := path.Join(p.base, rel)
	link := ""
	if info.Mode()&os.ModeSymlink != 0 {
		var err error
		if link, err = os.Readlink(full); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return fmt.Errorf("describe %s: %w", rel, err)
	}
	h.Name = p.archiveName(rel, info.IsDir())
	h.Uname, h.Gname, h.AccessTime, h.ChangeTime = "", "", zeroTime, zeroTime
	h.Format = tar.FormatPAX
	if _, err := cleanName(h.Name); err != nil {
		return err
	}
	p.files++
	if !info.IsDir() && st.Nlink > 1 {
		id := inode{st.Dev, st.Ino}
		if first, again := p.first[id]; again {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, first, 0
			return p.tar.WriteHeader(h)
		}
		p.first[id] = h.Name
	}
	if h.PAXRecords, err = readXattrs(full); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return p.tar.WriteHeader(h)
	}
	return p.writeRegular(full, h)
}

// writeRegular writes a file. One that changes meanwhile is an error: the archive would not be of one moment.
func (p *packer) writeRegular(full string, h *tar.Header) error {
	f, err := os.OpenFile(full, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NOATIME, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	p.content += h.Size
	sum := sha256.New()
	parts, err := dataExtents(f, h.Size)
	if err != nil {
		return fmt.Errorf("find its holes: %w", err)
	}
	if parts != nil {
		err = p.writeSparse(f, h, parts, sum)
	} else if err = p.tar.WriteHeader(h); err == nil {
		var n int64
		n, err = io.CopyBuffer(onlyWriter{io.MultiWriter(p.tar, sum)}, io.LimitReader(f, h.Size), p.buf)
		if err == nil && n < h.Size {
			err = errors.New("it became shorter while it was read")
		}
	}
	if err != nil {
		return err
	}
	if p.r.Sum != nil {
		p.r.Sum(strings.TrimPrefix(h.Name, "./"), [32]byte(sum.Sum(nil)))
	}
	return nil
}

// onlyWriter hides ReadFrom, so that io.CopyBuffer uses its buffer.
type onlyWriter struct{ io.Writer }
