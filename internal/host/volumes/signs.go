package volumes

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// lookAgain is how long Await waits at most. The kernel's messages do not reach every namespace, and a drive for
// discs gives none when a disc is put in.
const lookAgain = 2 * time.Second

// signs are the kernel's messages about devices (Linux, NETLINK_KOBJECT_UEVENT). They are sent whether or not udev is
// there to receive them, too.
type signs struct {
	once   sync.Once
	socket *os.File
}

const kernelGroup = 1

// openSocket subscribes once. Without a subscription Await looks again after a time.
func (s *signs) openSocket(log *slog.Logger) {
	s.once.Do(func() {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: kernelGroup})
		}
		if err != nil {
			log.Debug("no messages about devices; they are listed every few seconds", "error", err)
			return
		}
		s.socket = os.NewFile(uintptr(fd), "uevent")
	})
}

// Await implements host.Volumes.
func (v *Volumes) Await(ctx context.Context) error {
	v.signs.openSocket(v.options.Log)
	ctx, cancel := context.WithTimeoutCause(ctx, lookAgain, errTime)
	defer cancel()
	err := v.signs.awaitBlockEvent(ctx)
	if errors.Is(context.Cause(ctx), errTime) {
		return nil
	}
	return err
}

var errTime = errors.New("time to look again")

// awaitBlockEvent returns at the first message about a block device.
func (s *signs) awaitBlockEvent(ctx context.Context) error {
	if s.socket == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	stop := context.AfterFunc(ctx, func() { _ = s.socket.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := s.socket.SetReadDeadline(time.Time{}); err != nil {
		<-ctx.Done()
		return ctx.Err()
	}
	message := make([]byte, 16<<10)
	for ctx.Err() == nil {
		n, err := s.socket.Read(message)
		if errors.Is(err, unix.ENOBUFS) || err == nil && bytes.Contains(message[:n], []byte("\x00SUBSYSTEM=block\x00")) {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			<-ctx.Done()
		}
	}
	return ctx.Err()
}
