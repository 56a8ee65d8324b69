package hostcontract

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// TransientsFixture is a subject of TestTransients.
type TransientsFixture struct {
	Transients host.Transients
	Units      host.Units
	// Pass lets a little time go by.
	Pass func()
}

// TestTransients proves what host.Transients promises. Its units are named
// lca-contract-*.service and run true, false, sleep and sh -c "exit N".
func TestTransients(t *testing.T, fresh func(t *testing.T) TransientsFixture) {
	t.Helper()
	contract(t, fresh, []behaviour[TransientsFixture]{
		{"a unit that ends well is forgotten", transientEnds},
		{"a running unit is left alone and reported", transientRuns},
		{"a running unit can be stopped, and its name is free", transientStopped},
		{"a failed unit shows how it ended until it is forgotten", transientFails},
		{"a final exit is not tried again, for all that Restart says", transientFinal},
		{"another exit is tried again", transientRestarts},
		{"a unit that overruns its time is ended", transientTimeout},
		{"forgetting what is not there, or runs, changes nothing", transientForget},
		{"nothing to run is an error", transientEmpty},
	})
}

const transientUnit = "lca-contract-transient.service"

func (f TransientsFixture) launch(t *testing.T, want host.Transient) {
	t.Helper()
	want.Unit, want.Description = transientUnit, "Contract"
	noError(t, f.Transients.Launch(t.Context(), want))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		noError(t, f.Units.Stop(ctx, transientUnit), f.Transients.Forget(ctx, transientUnit))
	})
}

func (f TransientsFixture) state(t *testing.T) host.UnitState {
	t.Helper()
	s, err := f.Units.State(t.Context(), transientUnit)
	noError(t, err)
	return s
}

func (f TransientsFixture) until(t *testing.T, active string) {
	t.Helper()
	eventually(t, "the unit is "+active, f.Pass, func() bool { return f.state(t).Active == active })
}

func (f TransientsFixture) untilGone(t *testing.T) {
	t.Helper()
	eventually(t, "the unit is gone", f.Pass, func() bool { return !f.state(t).Exists() })
}

func transientEnds(t *testing.T, f TransientsFixture) {
	require.False(t, f.state(t).Exists())
	f.launch(t, host.Transient{Argv: []string{"/bin/true"}})
	f.untilGone(t)
	f.launch(t, host.Transient{Argv: []string{"/bin/true"}, Env: []string{"LCA_CONTRACT=1"}})
	f.untilGone(t)
}

func transientRuns(t *testing.T, f TransientsFixture) {
	f.launch(t, host.Transient{Argv: []string{"/bin/sleep", "1000"}})
	require.True(t, f.state(t).Running(), "it is under way when Launch returns")
	err := f.Transients.Launch(t.Context(), host.Transient{Unit: transientUnit, Argv: []string{"/bin/true"}})
	require.ErrorIs(t, err, host.ErrUnitRunning)
	f.Pass()
	require.True(t, f.state(t).Running())
}

func transientStopped(t *testing.T, f TransientsFixture) {
	f.launch(t, host.Transient{Argv: []string{"/bin/sleep", "1000"}})
	noError(t, f.Units.Stop(t.Context(), transientUnit))
	require.False(t, f.state(t).Running())
	noError(t, f.Transients.Forget(t.Context(), transientUnit))
	f.untilGone(t)
	f.launch(t, host.Transient{Argv: []string{"/bin/true"}})
	f.untilGone(t)
}

func transientFails(t *testing.T, f TransientsFixture) {
	f.launch(t, host.Transient{Argv: []string{"/bin/false"}})
	f.until(t, "failed")
	s := f.state(t)
	require.Equal(t, "exit-code", s.Result)
	require.Equal(t, 1, s.ExitCode)
	noError(t, f.Transients.Forget(t.Context(), transientUnit))
	f.untilGone(t)
	f.launch(t, host.Transient{Argv: []string{"/bin/true"}})
	f.untilGone(t)
}

func transientFinal(t *testing.T, f TransientsFixture) {
	f.launch(t, host.Transient{Argv: []string{"/bin/sh", "-c", fmt.Sprintf("exit %d", host.FinalExit)}, Restart: true})
	f.until(t, "failed")
	for range 3 {
		f.Pass()
	}
	s := f.state(t)
	require.Equal(t, "failed", s.Active)
	require.Equal(t, host.FinalExit, s.ExitCode)
}

// transientRestarts sees the unit wait for its next try, or give up after many.
func transientRestarts(t *testing.T, f TransientsFixture) {
	f.launch(t, host.Transient{Argv: []string{"/bin/sh", "-c", "exit 4"}, Restart: true})
	eventually(t, "the unit is tried again", f.Pass, func() bool {
		s := f.state(t)
		return s.Sub == "auto-restart" || s.Result == "start-limit-hit"
	})
	require.Equal(t, 4, f.state(t).ExitCode)
}

func transientTimeout(t *testing.T, f TransientsFixture) {
	f.launch(t, host.Transient{Argv: []string{"/bin/sleep", "1000"}, Timeout: time.Second})
	f.until(t, "failed")
	require.Equal(t, "timeout", f.state(t).Result)
}

func transientForget(t *testing.T, f TransientsFixture) {
	noError(t, f.Transients.Forget(t.Context(), transientUnit))
	f.launch(t, host.Transient{Argv: []string{"/bin/sleep", "1000"}})
	noError(t, f.Transients.Forget(t.Context(), transientUnit))
	require.True(t, f.state(t).Running())
}

func transientEmpty(t *testing.T, f TransientsFixture) {
	require.Error(t, f.Transients.Launch(t.Context(), host.Transient{Unit: transientUnit}))
	require.False(t, f.state(t).Exists())
}
