package stateroot_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// full is a disk on which nothing can be tried out.
type full struct {
	stateroot.Disk
	free host.Size
}

func (f full) Free(string) (host.Size, error) { return f.free, nil }

func (full) Shares(path string) (bool, error) {
	return false, fmt.Errorf("try to share data in %s: %w", path, syscall.ENOSPC)
}

func TestAFullDiskIsRefusedForGood(t *testing.T) {
	for says, free := range map[string]host.Size{
		"the new stateroot needs 64 MiB more and 0 MiB are free below /ostree/deploy": {Inodes: 1 << 20},
		"inodes more and 0 are free below /ostree/deploy":                             {Bytes: 1 << 40},
	} {
		n := hosttest.NewNode(hosttest.Options{})
		room := stateroot.Room{Files: n.Files(), Disk: full{n.Trees(), free}}
		err := room.Enough(t.Context(), stateroot.Pair{Old: "rhcos", New: "fresh"})
		require.ErrorContains(t, err, says)
	}
}

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
