package nm

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"
)

// manager answers extensions of a checkpoint, on the clock of synctest.
type manager struct {
	// busyFrom to busyUntil after the start it answers nothing.
	busyFrom, busyUntil time.Duration
	// answer is what it says afterwards.
	answer error
	start  time.Time
	asked  int
}

func (m *manager) extend(ctx context.Context) error {
	m.asked++
	for at := time.Since(m.start); at >= m.busyFrom && at < m.busyUntil; at = time.Since(m.start) {
		if sleep(ctx, m.busyUntil-at) != nil {
			return ctx.Err()
		}
	}
	return m.answer
}

// kept runs a keeper of 12 s for a minute and says how it ended, and when.
func kept(t *testing.T, m *manager) (after time.Duration, lost error) {
	t.Helper()
	m.start = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	k := keeper{extend: m.extend, length: 12 * time.Second, log: slog.New(slog.DiscardHandler)}
	lost = k.keepExtending(ctx, m.start)
	return time.Since(m.start), lost
}

func TestALeaseIsLostByAnAnswerOrByItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		manager manager
		lost    error
		after   time.Duration
	}{
		"it always answers":             {manager{}, nil, time.Minute},
		"busy for less than the lease":  {manager{busyFrom: 4 * time.Second, busyUntil: 11 * time.Second}, nil, time.Minute},
		"busy until the lease is over":  {manager{busyFrom: 4 * time.Second, busyUntil: time.Hour}, errLeaseOver, 12 * time.Second},
		"busy later on":                 {manager{busyFrom: 5 * time.Second, busyUntil: time.Hour}, errLeaseOver, 16 * time.Second},
		"it knows no such checkpoint":   {manager{answer: errLeaseLost}, errLeaseLost, 4 * time.Second},
		"another error is asked again":  {manager{answer: errors.New("limits exceeded")}, errLeaseOver, 12 * time.Second},
		"busy, then no such checkpoint": {manager{busyFrom: time.Second, busyUntil: 9 * time.Second, answer: errLeaseLost}, errLeaseLost, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				after, err := kept(t, &c.manager)
				require.ErrorIs(t, err, c.lost)
				require.Equal(t, c.after, after)
			})
		})
	}
}

func TestAnswersThatSayThatTheCheckpointIsGone(t *testing.T) {
	for name, lost := range map[string]bool{
		busName + ".InvalidArguments": true, "org.freedesktop.DBus.Error.ServiceUnknown": true, "org.freedesktop.DBus.Error.NameHasNoOwner": true,
		"org.freedesktop.DBus.Error.NoReply": false, "org.freedesktop.DBus.Error.LimitsExceeded": false, busName + ".PermissionDenied": false,
	} {
		require.Equal(t, lost, noSuchLease(dbus.Error{Name: name}), name)
	}
	require.False(t, noSuchLease(context.DeadlineExceeded))
}
