package registry

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
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

// stalling returns a context that ends where nothing happens for a while. stop ends the watch, and reports whether it has ended the
// request.
func stalling(ctx context.Context, after time.Duration) (watched context.Context, stop func() bool) {
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

// progress says that something was sent.
func (w *watch) progress() {
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
		w.progress()
	}
	return n, err
}
