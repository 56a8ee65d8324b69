package volumes

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Bounds on what is read of a volume: a stick may hold anything, and a made-up one may be endless.
const (
	maxEntries   = 8192
	maxDepth     = 6
	maxFolder    = 1 << 20  // bytes of one folder's entries
	maxReadable  = 32 << 20 // bytes of one file
	maxFolders   = 32 << 20 // bytes of the entries of all folders
	maxContent   = 64 << 20 // bytes that are read of all files
	maxNameUnits = 255
)

var (
	errTooMany = errors.New("the volume holds too many files; use one with the configuration alone")
	errCorrupt = errors.New("the filesystem is damaged; format the stick anew")
)

// node is a file or folder. Folders are read when the volume is opened, files when they are.
type node struct {
	name     string
	mode     fs.FileMode // type only
	size     int64
	children []*node
	open     func() (io.Reader, error)
}

func (n *node) addChild(c *node) { n.children = append(n.children, c) }

// budget is what reading a whole volume may cost, folders apart from files. It also ends with its context.
type budget struct {
	ctx                       context.Context
	entries, folders, content int64
	// seen is where folders begin. One that is reached twice is reached for ever.
	seen map[int64]bool
}

func newBudget(ctx context.Context) *budget {
	return &budget{ctx: ctx, entries: maxEntries, folders: maxFolders, content: maxContent, seen: map[int64]bool{}}
}

// countEntry counts an entry of a folder.
func (b *budget) countEntry() error {
	if b.entries--; b.entries < 0 {
		return errTooMany
	}
	return b.ctx.Err()
}

// enterFolder counts a folder by where it begins.
func (b *budget) enterFolder(at int64) error {
	if b.seen[at] {
		return errCorrupt
	}
	b.seen[at] = true
	return b.ctx.Err()
}

// spendBytes counts bytes that are about to be read of folders or files.
func (b *budget) spendBytes(from *int64, n int64) error {
	if *from -= n; *from < 0 {
		return errTooMany
	}
	return b.ctx.Err()
}

// isUsableName says that a name can stand in a path.
func isUsableName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= 4*maxNameUnits && !strings.ContainsAny(name, "/\x00")
}

// tree implements host.VolumeFiles.
type tree struct {
	root   *node
	closer io.Closer
}

func (t *tree) findNode(op, name string) (*node, error) {
	fail := func(err error) (*node, error) { return nil, &fs.PathError{Op: op, Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	at := t.root
	if name == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		i := slices.IndexFunc(at.children, func(c *node) bool { return c.name == part })
		if i < 0 {
			return fail(fs.ErrNotExist)
		}
		at = at.children[i]
	}
	return at, nil
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	n, err := t.findNode("open", name)
	if err != nil {
		return nil, err
	}
	if n.mode.IsDir() {
		return &openFile{node: n, reader: strings.NewReader("")}, nil
	}
	if !n.mode.IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
	}
	if n.size > maxReadable {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("the file is too long")}
	}
	r, err := n.open()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{node: n, reader: r}, nil
}

// ReadDir implements fs.ReadDirFS.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.findNode("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a folder")}
	}
	out := make([]fs.DirEntry, len(n.children))
	for i, c := range n.children {
		out[i] = fs.FileInfoToDirEntry(info{c})
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// Close implements io.Closer.
func (t *tree) Close() error { return t.closer.Close() }

type openFile struct {
	node   *node
	reader io.Reader
}

func (f *openFile) Read(p []byte) (int, error) { return f.reader.Read(p) }
func (f *openFile) Stat() (fs.FileInfo, error) { return info{f.node}, nil }
func (f *openFile) Close() error               { return nil }

type info struct{ *node }

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode | 0o444 }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
