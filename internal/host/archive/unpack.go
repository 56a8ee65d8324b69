package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// unpacker brings one archive back. All names are resolved below one folder, which no link leads out of.
type unpacker struct {
	ctx   context.Context
	below *os.Root
	tar   *tar.Reader
	sum   func(string, [32]byte)
	buf   []byte
	// folders are finished last, since what is made in them changes their times.
	folders []*tar.Header
}

func (u *unpacker) all() error {
	for {
		h, err := u.tar.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if err := u.ctx.Err(); err != nil {
			return err
		}
		name := path.Clean(strings.TrimPrefix(h.Name, "./"))
		if !fs.ValidPath(name) {
			return fmt.Errorf("the archive has the name %q, which leads out of the folder", h.Name)
		}
		h.Name = name
		if err := u.entry(h); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, h := range slices.Backward(u.folders) {
		if err := u.attributes(h); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	return nil
}

func (u *unpacker) entry(h *tar.Header) error {
	if h.Name != "." {
		if err := u.below.MkdirAll(path.Dir(h.Name), 0o700); err != nil {
			return err
		}
	}
	if err := u.makeRoom(h); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := u.below.Mkdir(h.Name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		u.folders = append(u.folders, h)
		return nil
	case tar.TypeLink:
		return u.below.Link(path.Clean(strings.TrimPrefix(h.Linkname, "./")), h.Name)
	case tar.TypeSymlink:
		if err := u.below.Symlink(h.Linkname, h.Name); err != nil {
			return err
		}
	case tar.TypeReg:
		if err := u.regular(h); err != nil {
			return err
		}
	case tar.TypeFifo, tar.TypeChar, tar.TypeBlock:
		if err := u.special(h); err != nil {
			return err
		}
	default:
		return fmt.Errorf("the archive has an entry of type %q", h.Typeflag)
	}
	return u.attributes(h)
}

// makeRoom removes what has the name, unless both are folders.
func (u *unpacker) makeRoom(h *tar.Header) error {
	info, err := u.below.Lstat(h.Name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() && h.Typeflag == tar.TypeDir {
		return nil
	}
	if err != nil {
		return err
	}
	return u.below.RemoveAll(h.Name)
}

func (u *unpacker) regular(h *tar.Header) error {
	f, err := u.below.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	err = u.content(f, h.Size, sum)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil && u.sum != nil {
		u.sum(h.Name, [32]byte(sum.Sum(nil)))
	}
	return err
}

// hole is how many zeros in a row become a hole.
const hole = 64 << 10

var noData = make([]byte, hole)

// content writes a file and leaves out runs of zeros.
func (u *unpacker) content(f *os.File, size int64, sum io.Writer) error {
	for at := int64(0); at < size; {
		n, err := io.ReadFull(u.tar, u.buf[:min(int64(len(u.buf)), size-at)])
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if _, err := sum.Write(u.buf[:n]); err != nil {
			return err
		}
		for b, off := u.buf[:n], at; len(b) > 0; {
			part := b[:min(len(b), hole)]
			if !bytes.Equal(part, noData[:len(part)]) {
				if _, err := f.WriteAt(part, off); err != nil {
					return err
				}
			}
			b, off = b[len(part):], off+int64(len(part))
		}
		at += int64(n)
	}
	return f.Truncate(size)
}

func (u *unpacker) special(h *tar.Header) error {
	kinds := map[byte]uint32{tar.TypeFifo: unix.S_IFIFO, tar.TypeChar: unix.S_IFCHR, tar.TypeBlock: unix.S_IFBLK}
	return u.in(h.Name, func(full string) error {
		return unix.Mknod(full, kinds[h.Typeflag]|0o600, int(unix.Mkdev(uint32(h.Devmajor), uint32(h.Devminor))))
	})
}

// in calls fn with a path whose folder cannot be exchanged meanwhile.
func (u *unpacker) in(name string, fn func(full string) error) error {
	dir, err := u.below.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return fn(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), path.Base(name)))
}

// attributes gives an entry its owner, mode, extended attributes and time, in this order: a new owner resets some.
func (u *unpacker) attributes(h *tar.Header) error {
	return u.in(h.Name, func(full string) error {
		if err := os.Lchown(full, h.Uid, h.Gid); err != nil {
			return err
		}
		if h.Typeflag != tar.TypeSymlink {
			if err := unix.Chmod(full, uint32(h.Mode&0o7777)); err != nil {
				return fmt.Errorf("set its mode: %w", err)
			}
		}
		for key, value := range h.PAXRecords {
			name, ok := strings.CutPrefix(key, recordXattr)
			if !ok {
				continue
			}
			if err := unix.Lsetxattr(full, name, []byte(value), 0); err != nil {
				return fmt.Errorf("set the attribute %s: %w", name, err)
			}
		}
		t := unix.NsecToTimespec(h.ModTime.UnixNano())
		return unix.UtimesNanoAt(unix.AT_FDCWD, full, []unix.Timespec{t, t}, unix.AT_SYMLINK_NOFOLLOW)
	})
}
