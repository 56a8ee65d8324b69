package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// entry is what is needed of a header.
type entry struct {
	name, link string
	kind       byte
	mode       uint32
	uid, gid   int
	device     int
	size       int64
	time       unix.Timespec
	xattrNames []string
	xattrs     map[string]string
}

// Bounds of Linux, which an archive that can be unpacked keeps.
const (
	maxPath       = 4095
	maxElement    = 255
	maxXattrName  = 255
	maxXattrValue = 64 << 10
	noID          = 1<<32 - 1 // chown(2) takes it for "as it is"
)

// maxHeld bounds the memory that names and the attributes of folders take. A seed of 500,000 files needs a tenth of it.
const maxHeld = 512 << 20

// seen are the names of an archive so far. A name never changes its kind: what is written below a folder, or applied to
// it, could otherwise reach what a link put in its place points to.
type seen struct {
	kinds map[string]byte
	// folder is the last one whose path was checked.
	folder string
	held   int64
}

// checkHeader refuses what no tree can hold, and what Linux would.
func (s *seen) checkHeader(h *tar.Header) (entry, error) {
	if s.kinds == nil {
		s.kinds, s.folder = map[string]byte{".": tar.TypeDir}, "."
	}
	name, err := cleanName(h.Name)
	if err != nil {
		return entry{}, err
	}
	e := entry{
		name: name, link: h.Linkname, kind: h.Typeflag, mode: uint32(h.Mode & 0o7777), uid: h.Uid, gid: h.Gid, size: h.Size,
	}
	if e.time, err = unix.TimeToTimespec(h.ModTime); err != nil {
		return e, fmt.Errorf("its time %s cannot be set: %w", h.ModTime, err)
	}
	if e.uid < 0 || e.uid >= noID || e.gid < 0 || e.gid >= noID {
		return e, fmt.Errorf("%d:%d is no owner", e.uid, e.gid)
	}
	if err := s.checkTarget(&e, h); err != nil {
		return e, err
	}
	if err := e.parseXattrs(h.PAXRecords); err != nil {
		return e, err
	}
	return e, s.addEntry(e)
}

// cleanName refuses a name that leads out of the folder. It may be of any encoding, as in Linux.
func cleanName(raw string) (string, error) {
	name := path.Clean(strings.TrimPrefix(raw, "./"))
	switch {
	case raw == "", path.IsAbs(name), name == "..", strings.HasPrefix(name, "../"), strings.Contains(name, "\x00"):
		return "", errors.New("the name leads out of the folder")
	case len(name) > maxPath:
		return "", fmt.Errorf("the name has %d bytes, Linux knows names of at most %d", len(name), maxPath)
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxElement {
			return "", fmt.Errorf("a part of the name has %d bytes, Linux knows names of at most %d", len(part), maxElement)
		}
	}
	return name, nil
}

// checkTarget checks what an entry of each kind points to.
func (s *seen) checkTarget(e *entry, h *tar.Header) error {
	switch e.kind {
	case tar.TypeDir, tar.TypeReg, tar.TypeFifo:
	case tar.TypeChar, tar.TypeBlock:
		if h.Devmajor < 0 || h.Devminor < 0 || h.Devmajor >= 1<<12 || h.Devminor >= 1<<20 {
			return fmt.Errorf("%d:%d is no device", h.Devmajor, h.Devminor)
		}
		e.device = int(unix.Mkdev(uint32(h.Devmajor), uint32(h.Devminor)))
	case tar.TypeSymlink:
		if len(e.link) == 0 || len(e.link) > maxPath || strings.Contains(e.link, "\x00") {
			return fmt.Errorf("it is a link to a name of %d bytes", len(e.link))
		}
	case tar.TypeLink:
		to, err := cleanName(e.link)
		if err != nil {
			return fmt.Errorf("it is another name of %q: %w", e.link, err)
		}
		kind, before := s.kinds[to]
		if !before || kind == tar.TypeDir || to == e.name {
			return fmt.Errorf("it is another name of %q, and no file of that name comes before it", e.link)
		}
		e.link = to
	default:
		return fmt.Errorf("the archive has an entry of type %q", e.kind)
	}
	if e.size < 0 || e.size > 0 && e.kind != tar.TypeReg {
		return fmt.Errorf("it has a content of %d bytes", e.size)
	}
	return nil
}

// parseXattrs takes the extended attributes out of the records.
func (e *entry) parseXattrs(records map[string]string) error {
	if e.kind == tar.TypeLink {
		return nil // those of its other name
	}
	for _, key := range slices.Sorted(maps.Keys(records)) {
		name, ok := strings.CutPrefix(key, recordXattr)
		if !ok {
			continue
		}
		name = decodeXattr.Replace(name)
		space, rest, _ := strings.Cut(name, ".")
		known := slices.Contains([]string{"user", "system", "security", "trusted"}, space) && rest != ""
		if !known || len(name) > maxXattrName || len(records[key]) > maxXattrValue {
			return fmt.Errorf("the attribute %.300q of %d bytes cannot be set", name, len(records[key]))
		}
		if e.kind == tar.TypeSymlink && (space == "user" || space == "system") ||
			space == "user" && e.kind != tar.TypeReg && e.kind != tar.TypeDir {
			return fmt.Errorf("the attribute %q cannot be set on a link or device", name)
		}
		if e.xattrs == nil {
			e.xattrs = map[string]string{}
		}
		e.xattrs[name] = records[key]
		e.xattrNames = append(e.xattrNames, name)
	}
	return nil
}

// addEntry notes the name, and the folders above it as folders.
func (s *seen) addEntry(e entry) error {
	above := path.Dir(e.name)
	for dir := above; dir != s.folder && dir != "."; dir = path.Dir(dir) {
		if err := s.recordKind(dir, tar.TypeDir); err != nil {
			return fmt.Errorf("%q above it: %w", dir, err)
		}
	}
	s.folder = above
	kind := e.kind
	if kind == tar.TypeLink {
		kind = s.kinds[e.link]
	}
	if kind == tar.TypeDir {
		for name, value := range e.xattrs {
			s.held += int64(len(name) + len(value))
		}
	}
	return s.recordKind(e.name, kind)
}

func (s *seen) recordKind(name string, kind byte) error {
	was, before := s.kinds[name]
	if before && was != kind {
		return fmt.Errorf("it comes twice, as %s and as %s", kindNames[was], kindNames[kind])
	}
	if !before {
		const overhead = 64
		s.kinds[name] = kind
		s.held += int64(len(name)) + overhead
	}
	if s.held > maxHeld {
		return errors.New("the archive holds more names and attributes than are read of one")
	}
	return nil
}

var kindNames = map[byte]string{
	tar.TypeDir: "a folder", tar.TypeReg: "a file", tar.TypeSymlink: "a link", tar.TypeFifo: "a pipe", tar.TypeChar: "a device",
	tar.TypeBlock: "a block device",
}
