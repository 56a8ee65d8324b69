package registry

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// stallKey finds the watch of a request in its context.
type stallKey struct{}

// watch ends a request that makes no progress.
type watch struct {
	mu      sync.Mutex
	timer   *time.Timer
	after   time.Duration
	stalled atomic.Bool
}

// withStallWatch returns a context that ends where nothing happens for a while. stop ends the watch, and reports whether it has ended the
// request.
func withStallWatch(ctx context.Context, after time.Duration) (watched context.Context, stop func() bool) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{after: after}
	w.timer = time.AfterFunc(after, func() {
		w.stalled.Store(true)
		cancel()
	})
	return context.WithValue(ctx, stallKey{}, w), func() bool {
		w.timer.Stop()
		cancel()
		return w.stalled.Load()
	}
}

// recordProgress says that something was sent.
func (w *watch) recordProgress() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stalled.Load() {
		w.timer.Reset(w.after)
	}
}

// watched is the body of a request whose progress is watched.
type watched struct {
	io.ReadCloser
	ctx context.Context
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if w, ok := b.ctx.Value(stallKey{}).(*watch); ok && n > 0 {
		w.recordProgress()
	}
	return n, err
}

// arriving is the body of an answer that ends where nothing arrives for a while. Only the wait for the registry counts, not the time that
// the reader takes.
type arriving struct {
	io.ReadCloser
	cancel   context.CancelFunc
	patience time.Duration
}

func (a *arriving) Read(p []byte) (int, error) {
	timer := time.AfterFunc(a.patience, a.cancel)
	n, err := a.ReadCloser.Read(p)
	if !timer.Stop() && err != nil {
		err = fmt.Errorf("%w: nothing arrived for %s: %w", host.ErrRegistryAway, a.patience, err)
	}
	return n, err
}

// Close also ends the request.
func (a *arriving) Close() error {
	defer a.cancel()
	return a.ReadCloser.Close()
}
