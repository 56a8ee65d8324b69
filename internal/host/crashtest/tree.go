package crashtest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// version is what one inode holds at one moment.
type version struct {
	mode    fs.FileMode
	data    string         // a file's contents, a link's target
	entries map[string]int // a folder's names and the nodes they lead to
	attrs   string         // extended attributes of the user, "name=value" lines
}

func (v version) equal(o version) bool {
	return v.mode == o.mode && v.data == o.data && v.attrs == o.attrs && maps.Equal(v.entries, o.entries)
}

// snapshot reads the tree as the kernel shows it now, by inode number.
type snapshot struct {
	byInode map[uint64]version
	root    uint64
}

// takeSnapshot reads all below root. Entries lead to inode numbers here; the history turns them into nodes.
func takeSnapshot(root string) (snapshot, error) {
	s := snapshot{byInode: map[uint64]version{}}
	var err error
	s.root, err = s.readNode(root)
	return s, err
}

func (s *snapshot) readNode(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return 0, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	v := version{mode: fs.FileMode(st.Mode & 0o7777)}
	var err error
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		v.mode |= fs.ModeDir
		v.entries, err = s.readDir(path)
	case unix.S_IFLNK:
		v.mode |= fs.ModeSymlink
		v.data, err = os.Readlink(path)
	case unix.S_IFREG:
		var data []byte
		data, err = os.ReadFile(path)
		v.data = string(data)
	}
	if err != nil {
		return 0, err
	}
	v.attrs, err = userAttrs(path)
	s.byInode[st.Ino] = v
	return st.Ino, err
}

// readDir tolerates names that vanish: the traced process may have several threads.
func (s *snapshot) readDir(path string) (map[string]int, error) {
	list, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	entries := map[string]int{}
	for _, e := range list {
		ino, err := s.readNode(filepath.Join(path, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries[e.Name()] = int(ino)
	}
	return entries, nil
}

func userAttrs(path string) (string, error) {
	names := make([]byte, 4096)
	n, err := unix.Llistxattr(path, names)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return "", nil
	}
	if err != nil {
		return "", &fs.PathError{Op: "llistxattr", Path: path, Err: err}
	}
	var out strings.Builder
	for name := range strings.SplitSeq(string(names[:n]), "\x00") {
		if !strings.HasPrefix(name, "user.") {
			continue
		}
		value := make([]byte, 4096)
		size, err := unix.Lgetxattr(path, name, value)
		if err != nil {
			return "", &fs.PathError{Op: "lgetxattr", Path: path, Err: err}
		}
		out.WriteString(name + "=" + string(value[:size]) + "\n")
	}
	return out.String(), nil
}
