package files

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// maxLinks is how many links at the end of a path are followed, as in the kernel.
	maxLinks = 40
	// newFolder is the mode of folders made on the way: private to root.
	newFolder = 0o700
	// raceRetries bounds how often openat2 is asked again when a rename elsewhere made it
	// give up (EAGAIN, see openat2(2)).
	raceRetries = 64
)

// Open opens a file beneath the root with open(2) flags; it does not create one.
func (f *Files) Open(path string, flags int) (*os.File, error) {
	root, err := f.openRoot()
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	fd, err := openIn(root, path, flags, 0)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (f *Files) openRoot() (int, error) {
	fd, err := unix.Open(f.root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, pathError("open root", f.root, err)
	}
	return fd, nil
}

// openIn resolves path with dir as the root directory and opens it.
func openIn(dir int, path string, flags int, resolve uint64) (int, error) {
	how := &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}
	if resolve == 0 {
		how.Resolve = unix.RESOLVE_IN_ROOT
	}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(dir, path, how)
		if err == nil || try >= raceRetries || (!errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)) {
			return fd, err
		}
	}
}

func pathError(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// openParent opens the folder that holds the last element of path and returns it with that
// element's name. With follow, a link there is followed to the place it points to. With
// create, missing folders are made.
func (f *Files) openParent(path string, follow, create bool) (dir int, name string, err error) {
	if !strings.HasPrefix(path, "/") {
		return -1, "", pathError("resolve", path, errors.New("path is not absolute"))
	}
	root, err := f.openRoot()
	if err != nil {
		return -1, "", err
	}
	defer unix.Close(root)
	at := strings.TrimRight(path, "/")
	for range maxLinks {
		folder, base := splitPath(at)
		if base == "" || base == "." || base == ".." {
			return -1, "", pathError("resolve", path, unix.EINVAL)
		}
		if dir, err = openFolder(root, folder, create, 0); err != nil {
			return -1, "", pathError("resolve", path, err)
		}
		target, err := readlinkAt(dir, base)
		if !follow || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			return dir, base, nil
		}
		unix.Close(dir)
		if err != nil {
			return -1, "", pathError("resolve", path, err)
		}
		at = joinTarget(folder, target)
	}
	return -1, "", pathError("resolve", path, unix.ELOOP)
}

// openFolder opens a folder and, with create, makes it and those above it.
func openFolder(root int, path string, create bool, depth int) (int, error) {
	fd, err := openIn(root, path, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err == nil || !create || !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	if depth > 2*maxLinks {
		return -1, unix.ELOOP
	}
	above, name := splitPath(strings.TrimRight(path, "/"))
	dir, err := openFolder(root, above, true, depth+1)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	if target, err := readlinkAt(dir, name); err == nil {
		return openFolder(root, joinTarget(above, target), true, depth+1)
	}
	if err := unix.Mkdirat(dir, name, newFolder); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	if err := syncFolder(dir); err != nil {
		return -1, err
	}
	return openIn(root, path, unix.O_PATH|unix.O_DIRECTORY, 0)
}

// splitPath cuts a path before its last element. It does not clean: "a/../b" means b beside
// what a leads to, which only the kernel knows.
func splitPath(path string) (folder, name string) {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/", path[i+1:]
	}
	return path[:i], path[i+1:]
}

func joinTarget(folder, target string) string {
	if strings.HasPrefix(target, "/") {
		return strings.TrimRight(target, "/")
	}
	return strings.TrimRight(folder+"/"+target, "/")
}

func readlinkAt(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// syncFolder makes what was created, renamed or removed in a folder survive a power cut.
func syncFolder(dir int) error {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fsync(fd)
}
