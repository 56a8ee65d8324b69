package hostcontract

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// LockFixture is a node with a free lock.
type LockFixture struct {
	Lock host.NodeLock
	// Other has another process take the lock, and returns what kills it where it stands.
	Other func(t *testing.T, h host.Holder) (kill func())
	// Reserve makes a flow's unfinished operations hold the node.
	Reserve func(host.Reservation)
	// Reboot ends the boot in which the lock was taken.
	Reboot func(t *testing.T)
}

var (
	changing = host.Holder{Operation: "ip-config op-1", Program: "lca-cli ip-config pre-pivot"}
	cleaning = host.Holder{Operation: "ip-config op-1", Program: "lca-cli ip-config cleanup"}
)

// impatient is a context that ends before anybody has let go of anything.
func impatient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// TestLock is what host.NodeLock promises.
func TestLock(t *testing.T, fresh func(t *testing.T) LockFixture) {
	contract(t, fresh, []behaviour[LockFixture]{
		{"a fresh node is free", func(t *testing.T, f LockFixture) { requireFree(t, f.Lock) }},
		{"a second Acquire names the holder", lockNamesItsHolder},
		{"Holder does not delay an Acquire", lockMayBeLookedAt},
		{"it is free after release", lockIsReleased},
		{"a waiting Acquire succeeds after release", lockIsHandedOver},
		{"a dead holder is not waited for", lockOutlivesNobody},
		{"no holder outlives the boot", lockEndsWithTheBoot},
		{"an unfinished operation has the node against other flows, over a reboot", lockStands},
		{"an unfinished operation admits its own flow", lockLetsItsOwnGoOn},
		{"an operation that has ended does not hold the node", lockOfTheEnded},
		{"a program is named before the operation", lockNamesTheProgramFirst},
		{"a program whose flow yields is ended by any other, and does not hold the node", lockIsYielded},
		{"an unfinished operation whose flow yields does not hold the node", lockOfTheYielding},
		{"Acquire fails if a reservation cannot be evaluated", lockOfTheUnknown},
	})
}

func requireFree(t *testing.T, l host.NodeLock) {
	t.Helper()
	h, held, err := l.Holder(t.Context())
	require.NoError(t, err)
	require.False(t, held, "%v", h)
	release, err := l.Acquire(impatient(t), cleaning)
	require.NoError(t, err)
	release()
}

func lockNamesItsHolder(t *testing.T, f LockFixture) {
	release, err := f.Lock.Acquire(t.Context(), changing)
	require.NoError(t, err)
	defer release()
	_, err = f.Lock.Acquire(impatient(t), cleaning)
	var busy *host.BusyError
	require.ErrorAs(t, err, &busy)
	seen, held, err := f.Lock.Holder(t.Context())
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, seen, busy.Holder)
	require.Equal(t, []string{changing.Operation, changing.Program}, []string{seen.Operation, seen.Program})
	require.Positive(t, seen.PID)
	require.NotEmpty(t, seen.Boot)
	require.WithinDuration(t, time.Now(), seen.Since, time.Minute)
	require.Contains(t, busy.Error(), "ip-config op-1 (lca-cli ip-config pre-pivot, pid ")
}

func lockMayBeLookedAt(t *testing.T, f LockFixture) {
	for range 20 {
		_, held, err := f.Lock.Holder(t.Context())
		require.NoError(t, err)
		require.False(t, held)
		requireFree(t, f.Lock)
	}
}

func lockIsReleased(t *testing.T, f LockFixture) {
	release, err := f.Lock.Acquire(t.Context(), changing)
	require.NoError(t, err)
	release()
	requireFree(t, f.Lock)
	again, err := f.Lock.Acquire(impatient(t), cleaning)
	require.NoError(t, err)
	defer again()
	release() // must not take it from its new holder
	_, held, err := f.Lock.Holder(t.Context())
	require.NoError(t, err)
	require.True(t, held)
}

func lockIsHandedOver(t *testing.T, f LockFixture) {
	release, err := f.Lock.Acquire(t.Context(), changing)
	require.NoError(t, err)
	got := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	go func() {
		next, err := f.Lock.Acquire(ctx, cleaning)
		if err == nil {
			defer next()
		}
		got <- err
	}()
	release()
	require.NoError(t, <-got)
}

func lockOutlivesNobody(t *testing.T, f LockFixture) {
	kill := f.Other(t, changing)
	h, held, err := f.Lock.Holder(t.Context())
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, changing.Operation, h.Operation)
	_, err = f.Lock.Acquire(impatient(t), cleaning)
	require.Error(t, err)
	kill()
	requireFree(t, f.Lock)
}

func lockEndsWithTheBoot(t *testing.T, f LockFixture) {
	f.Other(t, changing)
	f.Reboot(t)
	requireFree(t, f.Lock)
}

var stranger = host.Holder{Operation: "recert apply", Program: "lca-cli recert apply"}

// unfinishedChange is an operation that is unfinished as long as the test says so.
type unfinishedChange struct {
	over bool
	err  error
}

func (s *unfinishedChange) flow() host.Reservation {
	return host.Reservation{Flow: "ip-config", Unfinished: func(context.Context) (host.Holder, bool, error) {
		return host.Holder{Operation: "ip-config op-1", Phase: "post-pivot, step 3 of 10", Since: time.Unix(1, 0)}, !s.over && s.err == nil, s.err
	}}
}

func lockStands(t *testing.T, f LockFixture) {
	f.Reserve((&unfinishedChange{}).flow())
	for range 2 {
		var busy *host.BusyError
		_, err := f.Lock.Acquire(t.Context(), stranger) // a context without end: it must not be waited for
		require.ErrorAs(t, err, &busy)
		require.Equal(t, "another operation holds this node: ip-config op-1 (unfinished: post-pivot, step 3 of 10, since 1970-01-01T00:00:01Z)",
			busy.Error())
		h, held, err := f.Lock.Holder(t.Context())
		require.NoError(t, err)
		require.True(t, held)
		require.Equal(t, busy.Holder, h)
		f.Reboot(t)
	}
}

func lockLetsItsOwnGoOn(t *testing.T, f LockFixture) {
	f.Reserve((&unfinishedChange{}).flow())
	release, err := f.Lock.Acquire(impatient(t), cleaning)
	require.NoError(t, err)
	release()
}

func lockOfTheEnded(t *testing.T, f LockFixture) {
	s := &unfinishedChange{}
	f.Reserve(s.flow())
	_, err := f.Lock.Acquire(impatient(t), stranger)
	require.Error(t, err)
	s.over = true
	requireFree(t, f.Lock)
	release, err := f.Lock.Acquire(impatient(t), stranger)
	require.NoError(t, err)
	release()
}

func lockNamesTheProgramFirst(t *testing.T, f LockFixture) {
	f.Reserve((&unfinishedChange{}).flow())
	release, err := f.Lock.Acquire(impatient(t), changing)
	require.NoError(t, err)
	defer release()
	h, held, err := f.Lock.Holder(t.Context())
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, changing.Program, h.Program)
	require.Empty(t, h.Phase)
}

func lockOfTheUnknown(t *testing.T, f LockFixture) {
	s := &unfinishedChange{err: errors.New("the journal is on fire")}
	f.Reserve(s.flow())
	_, err := f.Lock.Acquire(impatient(t), stranger)
	require.ErrorContains(t, err, "the journal is on fire")
	release, err := f.Lock.Acquire(impatient(t), changing)
	require.NoError(t, err, "its own flow is not asked")
	release()
	s.err, s.over = nil, true
	requireFree(t, f.Lock)
}

var rehearsing = host.Holder{Operation: "ip-config-rehearsal op-2", Program: "lca-cli ip-config rehearse"}

func lockIsYielded(t *testing.T, f LockFixture) {
	kill, asked := f.Other(t, rehearsing), 0
	f.Reserve(host.Reservation{Flow: rehearsing.Flow(), Unfinished: (&unfinishedChange{}).flow().Unfinished,
		Yield: func(context.Context) error { asked++; kill(); return nil }})
	_, held, err := f.Lock.Holder(t.Context())
	require.NoError(t, err)
	require.False(t, held)
	_, err = f.Lock.Acquire(impatient(t), rehearsing)
	require.Error(t, err, "its own flow waits for it")
	require.Zero(t, asked)
	release, err := f.Lock.Acquire(impatient(t), changing)
	require.NoError(t, err)
	defer release()
	require.Equal(t, 1, asked)
}

func lockOfTheYielding(t *testing.T, f LockFixture) {
	f.Reserve(host.Reservation{Flow: rehearsing.Flow(), Unfinished: (&unfinishedChange{}).flow().Unfinished,
		Yield: func(context.Context) error { return errors.New("nothing runs that could be ended") }})
	requireFree(t, f.Lock)
}
