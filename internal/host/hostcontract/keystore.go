package hostcontract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// TestKeystore proves what host.Keystore promises. Each subject is a store with one
// member and no key below /lca-contract/, that is not open.
func TestKeystore(t *testing.T, fresh func(t *testing.T) host.Keystore) {
	t.Helper()
	contract(t, fresh, []behaviour[host.Keystore]{
		{"keys come in order, below the prefix only", keysInOrder},
		{"many keys come in pages, each once", keysInPages},
		{"two ranges run at once", rangesAtOnce},
		{"the caller's error ends a range", rangeStops},
		{"committed edits last after Close", commitLasts},
		{"a key that changed meanwhile is not overwritten", commitGuarded},
		{"revision 0 writes only keys that do not exist", commitCreates},
		{"a failed guard leaves the whole transaction unwritten", commitWhole},
		{"a key can be deleted, guarded too", commitDeletes},
		{"many edits are all written", commitMany},
		{"no edits are no error", commitNothing},
		{"a member's peer addresses can be changed", memberUpdated},
		{"defragmenting leaves every key and revision as it is, and can be repeated", defragmented},
		{"a closed session answers no more, and closing again is no error", sessionClosed},
	})
}

const keyPrefix = "/lca-contract/"

// opened is a session that ends with the test.
func opened(t *testing.T, k host.Keystore) host.OpenKeystore {
	t.Helper()
	s, err := k.Open(t.Context())
	noError(t, err)
	t.Cleanup(func() { noError(t, s.Close(context.WithoutCancel(t.Context()))) })
	return s
}

// seeded is a session on a store with keys named k0 to k<count-1>.
func seeded(t *testing.T, k host.Keystore, count int) host.OpenKeystore {
	t.Helper()
	s := opened(t, k)
	var edits []host.Edit
	for i := range count {
		edits = append(edits, host.Edit{Key: keyName(i), Value: []byte("first")})
	}
	noError(t, s.Commit(t.Context(), edits))
	return s
}

func keyName(i int) string { return fmt.Sprintf("%sk%d", keyPrefix, i) }

func below(t *testing.T, s host.OpenKeystore, prefix string) []host.KeyValue {
	t.Helper()
	var all []host.KeyValue
	noError(t, s.Range(t.Context(), prefix, func(kv host.KeyValue) error {
		all = append(all, kv)
		return nil
	}))
	return all
}

func value(t *testing.T, s host.OpenKeystore, key string) (host.KeyValue, bool) {
	t.Helper()
	for _, kv := range below(t, s, key) {
		if kv.Key == key {
			return kv, true
		}
	}
	return host.KeyValue{}, false
}

func requireValue(t *testing.T, s host.OpenKeystore, key, want string) host.KeyValue {
	t.Helper()
	kv, ok := value(t, s, key)
	require.True(t, ok, "%s exists", key)
	require.Equal(t, want, string(kv.Value))
	return kv
}

func keysInOrder(t *testing.T, k host.Keystore) {
	s := opened(t, k)
	noError(t, s.Commit(t.Context(), []host.Edit{
		{Key: keyPrefix + "b", Value: []byte("2")}, {Key: keyPrefix + "a/x", Value: []byte("1")},
		{Key: "/lca-contract-not/a", Value: []byte("no")}, {Key: keyPrefix + "c", Value: []byte{0, 0xff}},
	}))
	var keys []string
	for _, kv := range below(t, s, keyPrefix) {
		keys = append(keys, kv.Key)
		require.Positive(t, kv.ModRevision)
	}
	require.Equal(t, []string{keyPrefix + "a/x", keyPrefix + "b", keyPrefix + "c"}, keys)
	kv, _ := value(t, s, keyPrefix+"c")
	require.Equal(t, []byte{0, 0xff}, kv.Value)
	require.Greater(t, len(below(t, s, "")), 3, "no prefix is every key")
}

func keysInPages(t *testing.T, k host.Keystore) {
	const count = 1200
	s := seeded(t, k, count)
	seen := map[string]bool{}
	all := below(t, s, keyPrefix)
	for _, kv := range all {
		seen[kv.Key] = true
	}
	require.Len(t, all, count)
	require.Len(t, seen, count)
	require.True(t, slices.IsSortedFunc(all, func(a, b host.KeyValue) int { return strings.Compare(a.Key, b.Key) }))
}

// rangesAtOnce lets each of two ranges wait within itself for the other.
func rangesAtOnce(t *testing.T, k host.Keystore) {
	const count = 600
	s := seeded(t, k, count)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	met := make(chan struct{})
	var both sync.WaitGroup
	var seen [2]int
	var failed [2]error
	for i := range seen {
		both.Go(func() {
			failed[i] = s.Range(ctx, keyPrefix, func(host.KeyValue) error {
				if seen[i]++; seen[i] > 1 {
					return nil
				}
				select {
				case met <- struct{}{}:
				case <-met:
				case <-ctx.Done():
				}
				return ctx.Err()
			})
		})
	}
	both.Wait()
	noError(t, failed[:]...)
	require.Equal(t, [2]int{count, count}, seen)
}

func rangeStops(t *testing.T, k host.Keystore) {
	s := seeded(t, k, 3)
	enough, calls := errors.New("enough"), 0
	err := s.Range(t.Context(), keyPrefix, func(host.KeyValue) error {
		calls++
		return enough
	})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 1, calls)
}

func commitLasts(t *testing.T, k host.Keystore) {
	s := seeded(t, k, 2)
	kv := requireValue(t, s, keyName(0), "first")
	noError(t, s.Commit(t.Context(), []host.Edit{{Key: kv.Key, Value: []byte("second"), ModRevision: kv.ModRevision}}))
	after := requireValue(t, s, kv.Key, "second")
	require.Greater(t, after.ModRevision, kv.ModRevision)
	noError(t, s.Close(t.Context()))
	s = opened(t, k)
	require.Equal(t, after, requireValue(t, s, kv.Key, "second"))
	requireValue(t, s, keyName(1), "first")
}

func commitGuarded(t *testing.T, k host.Keystore) {
	s := seeded(t, k, 1)
	kv := requireValue(t, s, keyName(0), "first")
	edit := host.Edit{Key: kv.Key, Value: []byte("second"), ModRevision: kv.ModRevision}
	noError(t, s.Commit(t.Context(), []host.Edit{edit}))
	edit.Value = []byte("third")
	require.ErrorContains(t, s.Commit(t.Context(), []host.Edit{edit}), kv.Key)
	requireValue(t, s, kv.Key, "second")
}

func commitCreates(t *testing.T, k host.Keystore) {
	s := seeded(t, k, 1)
	require.ErrorContains(t, s.Commit(t.Context(), []host.Edit{{Key: keyName(0), Value: []byte("second")}}), keyName(0))
	requireValue(t, s, keyName(0), "first")
	require.ErrorContains(t, s.Commit(t.Context(), []host.Edit{{Key: keyName(7), Value: []byte("x"), ModRevision: 1}}), keyName(7))
	_, ok := value(t, s, keyName(7))
	require.False(t, ok)
}

func commitWhole(t *testing.T, k host.Keystore) {
	s := seeded(t, k, 2)
	good := requireValue(t, s, keyName(0), "first")
	require.ErrorContains(t, s.Commit(t.Context(), []host.Edit{
		{Key: good.Key, Value: []byte("second"), ModRevision: good.ModRevision},
		{Key: keyName(1), Value: []byte("second"), ModRevision: good.ModRevision + 1000},
	}), keyName(1))
	requireValue(t, s, keyName(0), "first")
	requireValue(t, s, keyName(1), "first")
}

func commitDeletes(t *testing.T, k host.Keystore) {
	s := seeded(t, k, 1)
	kv := requireValue(t, s, keyName(0), "first")
	require.Error(t, s.Commit(t.Context(), []host.Edit{{Key: kv.Key, Delete: true, ModRevision: kv.ModRevision + 1000}}))
	requireValue(t, s, kv.Key, "first")
	noError(t, s.Commit(t.Context(), []host.Edit{{Key: kv.Key, Delete: true, ModRevision: kv.ModRevision}}))
	_, ok := value(t, s, kv.Key)
	require.False(t, ok)
}

func commitMany(t *testing.T, k host.Keystore) {
	const count = 300
	s := seeded(t, k, count)
	var edits []host.Edit
	for _, kv := range below(t, s, keyPrefix) {
		edits = append(edits, host.Edit{Key: kv.Key, Value: []byte("second"), ModRevision: kv.ModRevision})
	}
	noError(t, s.Commit(t.Context(), edits))
	for _, kv := range below(t, s, keyPrefix) {
		require.Equal(t, "second", string(kv.Value))
	}
}

func commitNothing(t *testing.T, k host.Keystore) {
	s := opened(t, k)
	noError(t, s.Commit(t.Context(), nil))
}

func memberUpdated(t *testing.T, k host.Keystore) {
	s := opened(t, k)
	members, err := s.Members(t.Context())
	noError(t, err)
	require.Len(t, members, 1)
	m := members[0]
	require.NotZero(t, m.ID)
	require.NotEmpty(t, m.PeerURLs)
	m.PeerURLs = []string{"https://198.51.100.7:2380"}
	noError(t, s.UpdateMember(t.Context(), m.ID, m.PeerURLs))
	require.Error(t, s.UpdateMember(t.Context(), m.ID+1, m.PeerURLs))
	noError(t, s.Close(t.Context()))
	members, err = opened(t, k).Members(t.Context())
	noError(t, err)
	require.Equal(t, []host.StoreMember{m}, members)
}

func defragmented(t *testing.T, k host.Keystore) {
	s := seeded(t, k, 5)
	noError(t, s.Commit(t.Context(), []host.Edit{{Key: keyName(3), Delete: true, ModRevision: requireValue(t, s, keyName(3), "first").ModRevision}}))
	before := below(t, s, keyPrefix)
	require.Len(t, before, 4)
	noError(t, s.Defragment(t.Context()), s.Defragment(t.Context()))
	require.Equal(t, before, below(t, s, keyPrefix))
	noError(t, s.Commit(t.Context(), []host.Edit{{Key: keyName(0), Value: []byte("second"), ModRevision: before[0].ModRevision}}))
	requireValue(t, s, keyName(0), "second")
	noError(t, s.Close(t.Context()))
	require.Error(t, s.Defragment(t.Context()))
	requireValue(t, opened(t, k), keyName(0), "second")
}

func sessionClosed(t *testing.T, k host.Keystore) {
	s := seeded(t, k, 1)
	noError(t, s.Close(t.Context()), s.Close(t.Context()))
	require.Error(t, s.Range(t.Context(), keyPrefix, func(host.KeyValue) error { return nil }))
	require.Error(t, s.Commit(t.Context(), []host.Edit{{Key: keyName(9), Value: []byte("x")}}))
	_, err := s.Members(t.Context())
	require.Error(t, err)
	requireValue(t, opened(t, k), keyName(0), "first")
}
