package trees

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// The booted stateroot's /var is mounted over itself below /sysroot, so From and To lie on two
// mounts of one file system. Kernels before 5.18 clone no data between mounts. sameMount opens both
// through one private clone of the mount (open_tree(2)), invisible to other processes.

// sameMount returns both folders as seen through To's mount. ok is false where the kernel does not allow it; the copy
// then proceeds without shared data.
func sameMount(src, dst int, from, to meta) (newSrc, newDst *os.File, ok bool) {
	if from.dev != to.dev || from.mnt == to.mnt {
		return nil, nil, false
	}
	srcRel, dstRel, point, err := pathsInMount(src, dst, from, to)
	if err != nil {
		return nil, nil, false
	}
	tree, err := unix.OpenTree(unix.AT_FDCWD, point, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return nil, nil, false
	}
	defer unix.Close(tree)
	newSrc, err1 := openSame(tree, srcRel, from)
	newDst, err2 := openSame(tree, dstRel, to)
	if errors.Join(err1, err2) != nil {
		closeAll(newSrc, newDst)
		return nil, nil, false
	}
	return newSrc, newDst, true
}

// pathsInMount finds the paths of both folders relative to the mount point of To's mount.
func pathsInMount(src, dst int, from, to meta) (srcRel, dstRel, point string, err error) {
	mounts, err := readMounts()
	if err != nil {
		return "", "", "", err
	}
	a, okA := mounts[from.mnt]
	b, okB := mounts[to.mnt]
	if !okA || !okB {
		return "", "", "", errors.New("mount is not listed")
	}
	srcPath, err1 := fdPath(src)
	dstPath, err2 := fdPath(dst)
	inSrc, err3 := relativePath(a.Point, srcPath)
	dstRel, err4 := relativePath(b.Point, dstPath)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return "", "", "", err
	}
	srcRel, err = relativePath(b.Root, path.Join(a.Root, inSrc))
	return srcRel, dstRel, b.Point, err
}

func readMounts() (map[uint64]host.Mount, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	all := map[uint64]host.Mount{}
	for _, m := range host.ParseMounts(string(table)) {
		all[m.ID] = m
	}
	return all, nil
}

func fdPath(fd int) (string, error) { return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) }

// relativePath is the rest of full below base; "." for base itself.
func relativePath(base, full string) (string, error) {
	if base == full {
		return ".", nil
	}
	rest, ok := strings.CutPrefix(full, strings.TrimSuffix(base, "/")+"/")
	if !ok {
		return "", fmt.Errorf("%s is not below %s", full, base)
	}
	return rest, nil
}

// openSame opens a folder and verifies that it is the expected one.
func openSame(tree int, rel string, want meta) (*os.File, error) {
	fd, err := unix.Openat2(tree, rel, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", rel, err)
	}
	f := os.NewFile(uintptr(fd), rel)
	got, err := statFD(fd)
	if err == nil && got.inode() != want.inode() {
		err = errors.New("another folder is there")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
