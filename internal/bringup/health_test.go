package bringup_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var errUpdating = errors.New("machineconfigpool master: updating")

// sick is a cluster that is not healthy in some spans of the time since the start.
type sick struct {
	clock *clock
	spans [][2]time.Duration
	asked int
}

func (s *sick) healthy(context.Context) error {
	s.asked++
	since := s.clock.now.Sub(start)
	for _, span := range s.spans {
		if since >= span[0] && since < span[1] {
			return errUpdating
		}
	}
	return nil
}

func TestHealthHasToHold(t *testing.T) {
	for _, tt := range []struct {
		name   string
		spans  [][2]time.Duration
		begins time.Duration // of the hold that counts
		fails  bool
	}{
		{name: "healthy from the start"},
		{name: "a pool that begins to update ends the hold", spans: [][2]time.Duration{{40 * time.Second, 5 * time.Minute}},
			begins: 5 * time.Minute},
		{name: "one bad answer is enough", spans: [][2]time.Duration{{58 * time.Second, 60 * time.Second}}, begins: time.Minute},
		{name: "healthy just in time", spans: [][2]time.Duration{{0, 19*time.Minute + 50*time.Second}}, begins: 19*time.Minute + 50*time.Second},
		{name: "never", spans: [][2]time.Duration{{0, time.Hour}}, fails: true},
		{name: "not healthy any more when the time is over", spans: [][2]time.Duration{{0, 19*time.Minute + 50*time.Second},
			{20*time.Minute + 10*time.Second, time.Hour}}, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &clock{now: start}
			s := &sick{clock: c, spans: tt.spans}
			err := bringup.WaitHealthy(s.healthy, c).Do(t.Context())
			if tt.fails {
				require.ErrorIs(t, err, errUpdating)
				return
			}
			require.NoError(t, err)
			held := c.now.Sub(start) - tt.begins
			require.GreaterOrEqual(t, held, bringup.HealthHold)
			require.Less(t, held, 2*bringup.HealthHold, "it does not wait longer than it has to")
		})
	}
}

// leaping is a clock that is set by time synchronisation in the midst of the wait.
type leaping struct {
	clock
	at, by time.Duration
	done   bool
}

func (l *leaping) Sleep(ctx context.Context, d time.Duration) error {
	if err := l.clock.Sleep(ctx, d); err != nil {
		return err
	}
	if !l.done && l.now.Sub(start) >= l.at {
		l.done, l.now = true, l.now.Add(l.by)
	}
	return nil
}

func TestAClockThatIsSetProvesNothing(t *testing.T) {
	for _, by := range []time.Duration{-1000 * time.Hour, 1000 * time.Hour} {
		c := &leaping{clock: clock{now: start}, at: 10 * time.Second, by: by}
		tries := 0
		healthy := func(context.Context) error {
			if tries++; tries < 20 {
				return errUpdating // the clock is set meanwhile: the time is not over by that
			}
			return nil
		}
		require.NoError(t, bringup.WaitHealthy(healthy, c).Do(t.Context()))
		require.GreaterOrEqual(t, tries, 20+int(bringup.HealthHold/(30*time.Second)))

		c = &leaping{clock: clock{now: start}, at: 10 * time.Second, by: by}
		tries = 0
		err := bringup.WaitHealthy(func(context.Context) error { tries++; return nil }, c).Do(t.Context())
		require.NoError(t, err)
		require.Greater(t, tries, 10, "the leap does not count as health")
		require.Less(t, tries, 40, "nor does it delay the end")
	}
}

func TestWaitingForHealthEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := &clock{now: start}
	err := bringup.WaitHealthy(func(context.Context) error { cancel(); return errUpdating }, c).Do(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestHealthThatWasNotObservedIsNotHealth(t *testing.T) {
	var h bringup.Hold
	require.False(t, h.Observe(start, true))
	require.False(t, h.Observe(start.Add(24*time.Hour), true), "nothing is known of the day between")
	require.False(t, h.Observe(start.Add(24*time.Hour+20*time.Second), true))
	require.True(t, h.Observe(start.Add(24*time.Hour+40*time.Second), true))
	require.False(t, h.Observe(start.Add(24*time.Hour+60*time.Second), false))
	require.False(t, h.Observe(start.Add(24*time.Hour+80*time.Second), true))
}
