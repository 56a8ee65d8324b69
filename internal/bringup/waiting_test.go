package bringup_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
)

// clock passes as fast as it is slept through.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// late is a cluster that is Ready from a moment on.
type late struct {
	clock *clock
	from  time.Time
}

func (l late) Ready(context.Context) error {
	if l.clock.now.Before(l.from) {
		return errors.New("no node has the role control-plane")
	}
	return nil
}

func (l late) NodeReady(ctx context.Context, _ string) error { return l.Ready(ctx) }

func TestALongWaitSaysWhatItIsFor(t *testing.T) {
	var log bytes.Buffer
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := &clock{now: began}
	node := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"})
	dns := bringup.LocalDNS{Files: node.Files(), Clock: c, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Addresses: func() ([]netip.Addr, error) { return nil, nil }}
	require.NoError(t, bringup.WaitAPI(late{c, began.Add(30 * time.Second)}, dns).Do(t.Context()))
	require.Empty(t, log.String(), "an ordinary wait needs no report")
	require.NoError(t, bringup.WaitAPI(late{c, c.now.Add(150 * time.Second)}, dns).Do(t.Context()))
	require.Equal(t, 2, strings.Count(log.String(), "no node has the role control-plane"), log.String())
}
