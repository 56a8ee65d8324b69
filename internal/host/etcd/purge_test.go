package etcd_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
)

// mentions lists the files below a folder that hold the text.
func mentions(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, p)
		}
		return err
	}))
	return found
}

// A secret that was overwritten or deleted is nowhere in the data after a purge; what is there stays.
func TestAPurgeRemovesWhatWasOverwritten(t *testing.T) {
	const secret = "the-planted-secret"
	store, cfg := newStore(t, map[string]string{"/keep": "kept", "/over": secret, "/gone": secret})
	s := open(t, store)
	members, err := s.Members(t.Context())
	require.NoError(t, err)
	was := dump(t, s, "/")
	require.NoError(t, s.Commit(t.Context(), []host.Edit{
		{Key: "/over", Value: []byte("public"), ModRevision: was["/over"].ModRevision},
		{Key: "/gone", Delete: true, ModRevision: was["/gone"].ModRevision},
	}))
	closeStore(t, s)
	require.NotEmpty(t, mentions(t, cfg.DataDir, secret), "the test plants nothing")

	require.NoError(t, etcd.Purge(t.Context(), cfg))
	require.Empty(t, mentions(t, cfg.DataDir, secret))

	s = open(t, store)
	defer closeStore(t, s)
	is := dump(t, s, "/")
	require.Len(t, is, 2)
	require.Equal(t, "kept", string(is["/keep"].Value))
	require.Equal(t, was["/keep"].ModRevision, is["/keep"].ModRevision)
	require.Equal(t, "public", string(is["/over"].Value))
	after, err := s.Members(t.Context())
	require.NoError(t, err)
	require.Equal(t, members[0].ID, after[0].ID)
	require.Equal(t, members[0].PeerURLs, after[0].PeerURLs)
}
