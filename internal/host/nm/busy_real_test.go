package nm_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
)

// heard closes said when a text is logged.
type heard struct {
	text string
	said chan struct{}
	once sync.Once
}

func (h *heard) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(h.text)) {
		h.once.Do(func() { close(h.said) })
	}
	return len(line), nil
}

// NetworkManager does not answer for longer than an extension of its checkpoint waits, and for less than the checkpoint lasts.
func TestManagerThatIsBusyForAMomentKeepsTheChange(t *testing.T) {
	n := newNode(t)
	late := &heard{text: "has not extended the checkpoint", said: make(chan struct{})}
	net := nm.New(nm.Options{
		Bus: nm.SystemBus(nmtest.BusAddress), Files: n.disk, StateDir: n.state, Lease: 12 * time.Second,
		Settle: nmtest.Patience(10 * time.Second), Log: slog.New(slog.NewTextHandler(late, nil)),
	})
	err := net.Apply(timeout(t), document(t, moved), func(ctx context.Context) error {
		n.StopNM()
		defer n.ContinueNM()
		select {
		case <-late.said:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	require.NoError(t, err)
	n.isNew()
}
