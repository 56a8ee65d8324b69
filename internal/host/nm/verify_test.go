package nm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// TestUnable: only what cannot change any more ends the wait, and only after it stood still.
func TestUnable(t *testing.T) {
	now := time.Unix(0, 0)
	u := unable{patience: 10 * time.Second}
	follows := []netstate.Mismatch{{Sentence: "route r is missing"}}
	not := append([]netstate.Mismatch{{Sentence: "card0 has speed 100, not 1000", Settled: true}}, follows...)
	for _, found := range [][]netstate.Mismatch{nil, follows, not, nil, not} { // it was in place meanwhile: the time begins anew
		require.NoError(t, u.checkFollowed(found, now))
		now = now.Add(9 * time.Second)
	}
	err := u.checkFollowed(not, now.Add(time.Second))
	require.ErrorContains(t, err, "card0 has speed 100, not 1000")
	require.NotContains(t, err.Error(), "route r")
	for range 3 {
		now = now.Add(time.Minute)
		require.NoError(t, (&unable{patience: 10 * time.Second}).checkFollowed(follows, now))
	}
}

func TestVersionsAreCompared(t *testing.T) {
	for version, want := range map[string]bool{
		"1.52.0": true, "1.51.2": true, "1.50.9": false, "1.42.4": false, "1.54.3-2.el9": true, "2.0": true, "": false, "unknown": false,
	} {
		require.Equal(t, want, isSince(version, 51), version)
	}
}
