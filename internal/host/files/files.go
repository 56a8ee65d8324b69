package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Files implements host.Files.
type Files struct{ root string }

// New returns the files beneath root; empty is "/". The root is resolved again by each
// call, so that a Files stays right when mounts change.
func New(root string) *Files {
	if root == "" {
		root = "/"
	}
	return &Files{root: root}
}

// Root is the folder everything is resolved beneath, as this process sees it.
func (f *Files) Root() string { return f.root }

// Read implements host.Files. Anything but a regular file is refused, so that a pipe
// cannot hold the caller up.
func (f *Files) Read(path string) ([]byte, error) {
	file, err := f.Open(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if st.IsDir() {
		return nil, pathError("read", path, unix.EISDIR)
	}
	if !st.Mode().IsRegular() {
		return nil, pathError("read", path, unix.EINVAL)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// OpenRegular opens a regular file to be read piece by piece. A link at the end of the path is not followed.
func (f *Files) OpenRegular(path string) (io.ReadCloser, error) {
	file, err := f.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = unix.EINVAL
	}
	if err != nil {
		return nil, errors.Join(pathError("open", path, err), file.Close())
	}
	return file, nil
}

// List implements host.Files.
func (f *Files) List(path string) ([]string, error) {
	dir, err := f.Open(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	slices.Sort(names)
	return names, nil
}

// Stat implements host.Files.
func (f *Files) Stat(path string) (fs.FileInfo, error) {
	return f.statPath(path, unix.O_NOFOLLOW)
}

// StatTarget is Stat of what a link at the end of the path leads to.
func (f *Files) StatTarget(path string) (fs.FileInfo, error) { return f.statPath(path, 0) }

func (f *Files) statPath(path string, flags int) (fs.FileInfo, error) {
	file, err := f.Open(path, unix.O_PATH|flags)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("stat %s: %w", path, err)
	}
	return st, nil
}

// RealPath is the path with every link in it resolved, beneath the root.
func (f *Files) RealPath(path string) (string, error) {
	root, err := f.openRoot()
	if err != nil {
		return "", err
	}
	defer unix.Close(root)
	fd, err := openIn(root, path, unix.O_PATH, 0)
	if err != nil {
		return "", pathError("resolve", path, err)
	}
	defer unix.Close(fd)
	return pathBeneath(root, fd)
}

// pathBeneath asks the kernel for the path of fd as seen from root.
func pathBeneath(root, fd int) (string, error) {
	top, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", root))
	if err != nil {
		return "", fmt.Errorf("name the root folder: %w", err)
	}
	full, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return "", fmt.Errorf("name a file below %s: %w", top, err)
	}
	if top == "/" || full == top {
		return "/" + trimSlash(full[len(top):]), nil
	}
	if len(full) < len(top) || full[:len(top)] != top || full[len(top)] != '/' {
		return "", fmt.Errorf("%s is not below %s", full, top)
	}
	return full[len(top):], nil
}

func trimSlash(s string) string {
	for len(s) > 0 && s[0] == '/' {
		s = s[1:]
	}
	return s
}
