package hostcontract

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// confirmTime is how long a change waits for its confirmation where that comes; expiry where it does not.
const (
	confirmTime = time.Minute
	expiry      = 3 * time.Second
)

func (f NetworkFixture) begin(t *testing.T, lease time.Duration, options ...host.NetworkOption) {
	t.Helper()
	pending, err := f.Transaction.Begin(t.Context(), f.moved(), lease, options...)
	noError(t, err)
	require.True(t, pending)
}

// requirePending demands that a change waits, or that none does.
func (f NetworkFixture) requirePending(t *testing.T, want bool) host.PendingNetwork {
	t.Helper()
	p, pending, err := f.Transaction.Pending(t.Context())
	noError(t, err)
	require.Equal(t, want, pending)
	return p
}

func networkEphemeral(t *testing.T, f NetworkFixture) {
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil, host.NetworkEphemeral))
	f.require(t, f.New, f.Old)
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil)) // and can be made permanent
	f.require(t, f.New, f.New)
}

func networkCommitted(t *testing.T, f NetworkFixture) {
	f.begin(t, confirmTime)
	f.require(t, f.New, f.Old)
	p := f.requirePending(t, true)
	require.Equal(t, f.moved(), p.Want)
	require.WithinDuration(t, time.Now().Add(confirmTime), p.Deadline, waitLimit)
	noError(t, f.Transaction.Commit(t.Context()))
	f.require(t, f.New, f.New)
	f.requirePending(t, false)
}

func networkRolledBack(t *testing.T, f NetworkFixture) {
	f.begin(t, confirmTime)
	noError(t, f.Transaction.Rollback(t.Context()))
	f.require(t, f.Old, f.Old)
	require.Equal(t, f.OldGateway.String(), f.gateway(t))
	f.requirePending(t, false)
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil)) // and can be tried again
	f.require(t, f.New, f.New)
}

func networkExpired(t *testing.T, f NetworkFixture) {
	f.begin(t, expiry)
	eventually(t, "the former network is back", func() { time.Sleep(expiry / 20) }, func() bool {
		all := f.addresses(t)
		return len(all) == 1 && all[0] == f.Old
	})
	f.requirePending(t, false)
	require.ErrorIs(t, f.Transaction.Commit(t.Context()), host.ErrNoNetworkPending)
	noError(t, f.Network.Recover(t.Context()))
	f.require(t, f.Old, f.Old)
	require.Equal(t, f.OldGateway.String(), f.gateway(t))
}

func networkDual(t *testing.T, f NetworkFixture) {
	f.begin(t, confirmTime)
	_, err := f.Transaction.Begin(t.Context(), f.moved(), confirmTime)
	require.ErrorIs(t, err, host.ErrNetworkPending)
	require.ErrorIs(t, f.Network.Apply(t.Context(), f.moved(), nil), host.ErrNetworkPending)
	f.require(t, f.New, f.Old)
	noError(t, f.Transaction.Commit(t.Context()))
	f.require(t, f.New, f.New)
}

func networkNothingPending(t *testing.T, f NetworkFixture) {
	f.requirePending(t, false)
	require.ErrorIs(t, f.Transaction.Commit(t.Context()), host.ErrNoNetworkPending)
	require.ErrorIs(t, f.Transaction.Rollback(t.Context()), host.ErrNoNetworkPending)
	f.require(t, f.Old, f.Old)
}

func networkBeginInPlace(t *testing.T, f NetworkFixture) {
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil))
	pending, err := f.Transaction.Begin(t.Context(), f.moved(), confirmTime)
	noError(t, err)
	require.False(t, pending)
	f.requirePending(t, false)
}

func networkRecoverPending(t *testing.T, f NetworkFixture) {
	f.begin(t, confirmTime)
	noError(t, f.Network.Recover(t.Context()))
	f.require(t, f.New, f.Old)
	f.requirePending(t, true)
	noError(t, f.Transaction.Rollback(t.Context()))
	f.require(t, f.Old, f.Old)
}

func networkWatched(t *testing.T, f NetworkFixture) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes, err := f.Watch.Changes(ctx)
	noError(t, err)
	woken := func(what string) {
		t.Helper()
		select {
		case _, open := <-changes:
			require.True(t, open, what)
		case <-time.After(waitLimit):
			require.Fail(t, "not woken: "+what)
		}
	}
	woken("the first value comes at once")
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil))
	woken("an applied document is a change")
	cancel()
	eventually(t, "the channel is closed", func() { time.Sleep(time.Millisecond) }, func() bool {
		select {
		case _, open := <-changes:
			return !open
		default:
			return false
		}
	})
}

func networkPlanned(t *testing.T, f NetworkFixture) {
	plan, err := f.Planner.Plan(t.Context(), f.moved())
	noError(t, err)
	require.Len(t, plan, 1)
	require.Equal(t, f.Uplink, plan[0].Interface)
	require.Equal(t, host.DisruptionInPlace, plan[0].Disruption)
	require.Contains(t, plan[0].Keys, "ipv4.address-data")
	f.require(t, f.Old, f.Old)
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil))
	plan, err = f.Planner.Plan(t.Context(), f.moved())
	noError(t, err)
	require.Empty(t, plan)
}
