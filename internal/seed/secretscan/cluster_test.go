package secretscan

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
)

// A cluster whose keys recert made for the image ships as it is, and nothing in it needs a decision.
func TestACleanClusterShipsUnharmed(t *testing.T) {
	ring, err := clustertest.NewKeyring()
	require.NoError(t, err)
	for seed := range uint64(4) {
		c := clustertest.Generate(ring, seed, clustertest.Before(seed), clustertest.Size{Objects: 200, Bundle: 3})
		s := New(nil, NewSeen("salt"))
		for key, value := range c.Keys {
			out, changed, deleted := s.Object(host.KeyValue{Key: key, Value: value})
			require.False(t, changed || deleted, key)
			require.True(t, bytes.Equal(out, value), key)
		}
		for file, f := range c.Files {
			out, action := s.File(file, f.Data)
			require.Equal(t, LeaveFile, action, file)
			require.Equal(t, f.Data, out, file)
		}
		s.Report.Finish()
		for _, f := range s.Report.Found {
			require.Equal(t, Renewed, f.Decision, "%+v", f)
		}
		require.Greater(t, s.Report.Counts[Renewed], 60)
		require.Equal(t, len(c.Keys), s.Report.Objects)
		require.Equal(t, len(c.Files), s.Report.Files)
	}
}

// A seed's own keys are found wherever they are, if recert has not renewed them.
func TestKeysThatTheSeedHasDoNotShip(t *testing.T) {
	ring, err := clustertest.NewKeyring()
	require.NoError(t, err)
	c := clustertest.Generate(ring, 1, clustertest.Before(1), clustertest.Size{Objects: 30, Bundle: 1})
	s := New(nil, NewSeen("salt"))
	for key, value := range c.Keys {
		s.NoteObject(host.KeyValue{Key: key, Value: value})
	}
	for key, value := range c.Keys {
		out, _, _ := s.Object(host.KeyValue{Key: key, Value: value})
		require.NotContains(t, string(out), "PRIVATE KEY", key)
	}
	require.NotEmpty(t, s.Report.Found)
	for _, f := range s.Report.Found {
		require.Equal(t, Removed, f.Decision, "%+v", f)
	}
}
