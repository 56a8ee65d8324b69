package trees

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Shares implements host.Trees. It tries, with two files that have no name and are gone when it
// returns.
func (t *Trees) Shares(path string) (bool, error) {
	dir, err := t.root.Open(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return false, fmt.Errorf("try to share data in %s: %w", path, err)
	}
	defer dir.Close()
	src, err := openUnnamed(int(dir.Fd()))
	if err != nil {
		return false, fmt.Errorf("try to share data in %s: %w", path, err)
	}
	defer unix.Close(src)
	dst, err := openUnnamed(int(dir.Fd()))
	if err != nil {
		return false, fmt.Errorf("try to share data in %s: %w", path, err)
	}
	defer unix.Close(dst)
	if _, err := unix.Pwrite(src, make([]byte, 4096), 0); err != nil {
		return false, fmt.Errorf("try to share data in %s: %w", path, err)
	}
	return unix.IoctlFileClone(dst, src) == nil, nil
}

func openUnnamed(dir int) (int, error) {
	return unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
}
