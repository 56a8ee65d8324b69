package nodejob

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// fakeSystemd remembers what was asked of it.
type fakeSystemd struct {
	launched  []host.Transient
	forgotten []string
	err       error
}

func (f *fakeSystemd) Launch(_ context.Context, t host.Transient) error {
	f.launched = append(f.launched, t)
	return f.err
}

func (f *fakeSystemd) Forget(_ context.Context, unit string) error {
	f.forgotten = append(f.forgotten, unit)
	return nil
}

func (f *fakeSystemd) State(_ context.Context, unit string) (host.UnitState, error) {
	return host.UnitState{Active: "active", Sub: unit}, f.err
}

func TestStart(t *testing.T) {
	systemd := &fakeSystemd{}
	job := Job{Unit: "a.service", Description: "work", Argv: []string{"/bin/true", "-x"}, Restart: true}
	require.NoError(t, Start(t.Context(), systemd, job))
	require.Equal(t, []string{"a.service"}, systemd.forgotten, "a failed run of that name would refuse the new one")
	require.Equal(t, []host.Transient{{Unit: "a.service", Description: "work", Argv: job.Argv, Restart: true}}, systemd.launched)

	systemd.err = host.ErrUnitRunning
	require.NoError(t, Start(t.Context(), systemd, job), "a job that runs is what was asked for")
	systemd.err = errors.New("no bus")
	require.EqualError(t, Start(t.Context(), systemd, job), "start unit a.service: no bus")
}

func TestRetryBacksOff(t *testing.T) {
	systemd, now := &fakeSystemd{}, time.Unix(0, 0)
	var b Backoff
	require.False(t, b.Begun())
	require.Empty(t, b.Outlook(now))
	for i, pause := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		require.NoError(t, Retry(t.Context(), systemd, Job{Unit: "a.service"}, &b, now))
		require.NoError(t, Retry(t.Context(), systemd, Job{Unit: "a.service"}, &b, now.Add(pause*time.Second-1)), "too early")
		require.Len(t, systemd.launched, i+1)
		require.True(t, b.Begun())
		now = now.Add(pause * time.Second)
		require.Equal(t, now, b.Due())
	}
	require.Equal(t, "; attempt 7 in progress", b.InProgress())
	require.Equal(t, "; attempt 7 failed, retrying now", b.Outlook(now))
	require.Equal(t, "; attempt 7 failed, next attempt at 1970-01-01T00:15:10Z", b.Outlook(now.Add(-time.Second)))
	require.Equal(t, time.Second, b.Wait(now), "never a busy loop")
	require.Equal(t, 30*time.Second, b.Wait(now.Add(-4*time.Minute)))
	b.Reset()
	require.True(t, b.Ready(time.Unix(0, 0)))
}

func TestObserve(t *testing.T) {
	systemd := &fakeSystemd{}
	states, err := Observe(t.Context(), systemd, "a", "b")
	require.NoError(t, err)
	require.Equal(t, map[string]host.UnitState{"a": {Active: "active", Sub: "a"}, "b": {Active: "active", Sub: "b"}}, states)
	systemd.err = errors.New("no bus")
	_, err = Observe(t.Context(), systemd, "a")
	require.EqualError(t, err, "observe unit a: no bus")
}

func TestHowItEnded(t *testing.T) {
	state := host.UnitState{Result: "exit-code", ExitCode: 3}
	require.Equal(t, "no room", HowItEnded("a.service", state, "no room"))
	require.Equal(t, "a.service ended with exit-code (exit code 3); see 'journalctl -u a.service' on the node", HowItEnded("a.service", state, ""))
}
