package watch_test

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/watch"
)

// In a network namespace in which nothing happens.
func TestAKernelWatchThatBeginsIsAChange(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("reason: a network namespace of its own needs root")
	}
	ctx, cancel := context.WithCancel(t.Context())
	changes, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its namespace
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			ended <- err
			return
		}
		ended <- watch.Kernel(ctx, func() { changes <- struct{}{} })
	}()
	select {
	case <-changes:
	case err := <-ended:
		t.Fatalf("the watch ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("nothing was reported")
	}
	cancel()
	require.NoError(t, <-ended)
}

// A source that breaks is opened again, and what it missed is a change.
func TestABrokenSourceIsOpenedAgain(t *testing.T) {
	opened := make(chan func(), 1)
	broken := make(chan error)
	source := func(_ context.Context, changed func()) error {
		opened <- changed
		return <-broken
	}
	ctx, cancel := context.WithCancel(t.Context())
	changes := watch.Start(ctx, source)
	<-changes // the first one comes at once
	<-opened
	broken <- os.ErrClosed
	<-changes // the end of the source
	changed := <-opened
	changed()
	<-changes
	cancel()
	broken <- nil
	_, open := <-changes
	require.False(t, open)
}

// The end of ctx closes the socket below the call that reads it, or before the socket is ready.
func TestTheEndOfAKernelWatchIsNoFailure(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("reason: a network namespace of its own needs root")
	}
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- watch.Kernel(ctx, func() { go cancel() }) }()
		require.NoError(t, <-ended)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, watch.Kernel(ctx, func() {}))
}
