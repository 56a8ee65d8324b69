package stateroot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

func TestSpaceForSharedCopies(t *testing.T) {
	for _, shares := range []bool{true, false} {
		n := hosttest.NewNode(hosttest.Options{Reflinks: shares})
		used, err := n.Trees().Usage(t.Context(), host.InVar("rhcos", "/var"))
		require.NoError(t, err)
		need, free, err := stateroot.Room{Files: n.Files(), Disk: n.Trees()}.SpaceFor(t.Context(), "rhcos")
		require.NoError(t, err)
		require.Positive(t, free.Bytes)
		require.Equal(t, shares, need.Bytes-64<<20 < used.Bytes)
		require.Greater(t, need.Inodes, used.Inodes, "a shared copy has files of its own")
	}
}
