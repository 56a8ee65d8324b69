// Package lock lets one acting lca-cli run at a time. The lock is a flock on a
// file in /run: the kernel lets go of it when its holder dies, so
// there is no stale holder to wait for. cmd/lca-cli uses it; it imports the standard library
// and golang.org/x/sys only.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// File is where the node's lock is.
const File = "/run/lca/operation.lock"

// poll is how often a waiting caller looks again.
const poll = 200 * time.Millisecond

// BusyError says who holds the lock.
type BusyError struct{ Holder string }

func (e *BusyError) Error() string {
	return "another operation holds this node: " + e.Holder + "; wait for it to end"
}

// Acquire takes the lock in the file for holder, waiting until ctx ends. The
// returned function lets go of it.
func Acquire(ctx context.Context, file, holder string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of lock %s: %w", file, err)
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock %s: %w", file, err)
	}
	if err := wait(ctx, f); err != nil {
		f.Close()
		return nil, err
	}
	if err := errors.Join(f.Truncate(0), writeHolder(f, holder)); err != nil {
		f.Close()
		return nil, fmt.Errorf("write holder into lock %s: %w", file, err)
	}
	return func() { f.Close() }, nil
}

func writeHolder(f *os.File, holder string) error {
	_, err := f.WriteAt(fmt.Appendf(nil, "%s (pid %d)\n", holder, os.Getpid()), 0)
	return err
}

func wait(ctx context.Context, f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		select {
		case <-ctx.Done():
			return &BusyError{Holder: holderOf(f)}
		case <-time.After(poll):
		}
	}
}

func holderOf(f *os.File) string {
	buf := make([]byte, 256)
	n, _ := f.ReadAt(buf, 0)
	if n == 0 {
		return "unknown"
	}
	return strings.TrimSpace(string(buf[:n]))
}
