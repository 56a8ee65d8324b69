package lock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// poll is the interval at which a waiting caller tries again.
const poll = 200 * time.Millisecond

// settling bounds the time in which a new holder writes its name.
const settling = 2 * poll

// Lock is the lock in one file.
type Lock struct {
	file  string
	flows []host.Reservation
}

// New returns the lock of the node whose root directory is root. Unfinished operations of the flows hold it too.
func New(root string, flows ...host.Reservation) *Lock {
	return &Lock{file: filepath.Join(root, host.LockFile), flows: flows}
}

var _ host.NodeLock = (*Lock)(nil)

// Acquire implements host.NodeLock.
func (l *Lock) Acquire(ctx context.Context, h host.Holder) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of lock %s: %w", l.file, err)
	}
	f, err := os.OpenFile(l.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock %s: %w", l.file, err)
	}
	if err := l.awaitLock(ctx, f, h); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := l.refuseUnfinished(ctx, h); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := writeHolder(f, h); err != nil {
		return nil, errors.Join(fmt.Errorf("write the holder into lock %s: %w", l.file, err), f.Close())
	}
	return sync.OnceFunc(func() {
		_ = f.Truncate(0) // a name that remains is not trusted without the lock
		_ = f.Close()
	}), nil
}

// refuseUnfinished checks, while the lock is held, that no other flow has an unfinished operation.
func (l *Lock) refuseUnfinished(ctx context.Context, h host.Holder) error {
	other, found, err := host.Unfinished(context.WithoutCancel(ctx), l.flows, h.Flow())
	if err == nil && found {
		return &host.BusyError{Holder: other}
	}
	return err
}

// writeHolder names this process in the file.
func writeHolder(f *os.File, h host.Holder) error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	h.PID, h.Boot, h.Since = os.Getpid(), boot, time.Now().UTC().Truncate(time.Second)
	data, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode the holder: %w", err)
	}
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("empty the file: %w", err)
	}
	_, err = f.WriteAt(append(data, '\n'), 0)
	return err
}

func (l *Lock) awaitLock(ctx context.Context, f *os.File, h host.Holder) error {
	for {
		busy, err := tryLock(f, unix.LOCK_EX)
		if err != nil || !busy {
			return err
		}
		if other, known := readHolder(f); known {
			ended, err := host.Displace(context.WithoutCancel(ctx), l.flows, other, h.Flow())
			if err != nil {
				return err
			}
			if ended {
				continue
			}
		}
		if sleepContext(ctx, poll) != nil {
			return &host.BusyError{Holder: l.awaitHolder(context.WithoutCancel(ctx), f)}
		}
	}
}

// tryLock takes the lock unless another process holds it.
func tryLock(f *os.File, how int) (busy bool, err error) {
	err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return false, nil
}

func sleepContext(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Holder implements host.NodeLock. It detects a program by taking the lock shared for a moment: an Acquire meanwhile
// retries, and other readers are not affected.
func (l *Lock) Holder(ctx context.Context) (host.Holder, bool, error) {
	if h, held, err := l.programHolder(ctx); err != nil || held && !host.Yields(l.flows, h) {
		return h, held, err
	}
	return host.Unfinished(ctx, l.flows, "")
}

// programHolder returns the program that holds the lock.
func (l *Lock) programHolder(ctx context.Context) (host.Holder, bool, error) {
	f, err := os.Open(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return host.Holder{}, false, nil
	}
	if err != nil {
		return host.Holder{}, false, fmt.Errorf("open lock %s: %w", l.file, err)
	}
	defer func() { _ = f.Close() }()
	busy, err := tryLock(f, unix.LOCK_SH)
	if err != nil || !busy {
		return host.Holder{}, false, err
	}
	return l.awaitHolder(ctx, f), true, nil
}

// awaitHolder is the program that holds the lock, with what ends its operation.
func (l *Lock) awaitHolder(ctx context.Context, f *os.File) host.Holder {
	h := l.awaitHolderName(ctx, f)
	for _, s := range l.flows {
		if s.Flow == h.Flow() {
			h.EndedBy = s.EndedBy
		}
	}
	return h
}

// awaitHolderName reads the holder's name. The name of a process that has exited is an earlier holder's; the present one gets a
// moment to write its own.
func (l *Lock) awaitHolderName(ctx context.Context, f *os.File) host.Holder {
	for end := time.Now().Add(settling); ; {
		if h, ok := readHolder(f); ok {
			return h
		}
		if time.Now().After(end) || sleepContext(ctx, poll/4) != nil {
			return host.Holder{}
		}
	}
}

// readHolder returns the holder in the file if that process is running.
func readHolder(f *os.File) (h host.Holder, ok bool) {
	buf := make([]byte, 4096)
	n, _ := f.ReadAt(buf, 0)
	if json.Unmarshal(buf[:n], &h) != nil || h.PID <= 0 {
		return host.Holder{}, false
	}
	boot, err := bootID()
	return h, err == nil && boot == h.Boot && !errors.Is(unix.Kill(h.PID, 0), unix.ESRCH)
}

func bootID() (string, error) {
	data, err := os.ReadFile(host.BootIDFile)
	if err != nil {
		return "", fmt.Errorf("read the boot id: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
