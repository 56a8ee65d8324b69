package seed_test

import (
	"context"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// disk has a /var of 20 GiB with an etcd of 1 GiB, and a file system of 100 GiB mounted on /var/lib/containers: host.Trees does not
// count it for /var.
type disk struct {
	shares bool
	free   host.Size
}

func (disk) Usage(_ context.Context, at string) (host.Size, error) {
	sizes := map[string]host.Size{
		"/var": {Bytes: 20 << 30, Inodes: 1000}, host.EtcdData: {Bytes: 1 << 30, Inodes: 20},
		seed.ContainerStorageDir: {Bytes: 100 << 30, Inodes: 5000},
	}
	return sizes[path.Clean(at)], nil
}
func (d disk) Free(string) (host.Size, error) { return d.free, nil }
func (d disk) Shares(string) (bool, error)    { return d.shares, nil }

// The checks before a generation and the generation itself ask for the same room: a whole copy, or etcd's, and a twentieth.
func TestRoomForACopy(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		disk disk
		need int64
		says string
	}{
		"a whole copy":       {disk{false, host.Size{Bytes: 22 * gib, Inodes: 2000}}, 21*gib + seed.CopyReserve, ""},
		"no room for it":     {disk{false, host.Size{Bytes: 20 * gib, Inodes: 2000}}, 21*gib + seed.CopyReserve, "needs 22016 MiB in /var/lib/lca, where 20480 MiB are free"},
		"data is shared":     {disk{true, host.Size{Bytes: 3 * gib, Inodes: 2000}}, 2*gib + seed.CopyReserve, ""},
		"no room for that":   {disk{true, host.Size{Bytes: 2 * gib, Inodes: 2000}}, 2*gib + seed.CopyReserve, "needs 2560 MiB"},
		"no room for a name": {disk{true, host.Size{Bytes: 3 * gib, Inodes: 1000}}, 2*gib + seed.CopyReserve, "needs 1050 inodes in /var/lib/lca, where 1000 are free"},
	} {
		t.Run(name, func(t *testing.T) {
			need, free, err := seed.RoomForCopy(t.Context(), c.disk)
			require.NoError(t, err)
			require.Equal(t, c.need, need.Bytes)
			lacking := seed.RoomLacking(need, free)
			if c.says == "" {
				require.Empty(t, lacking)
				return
			}
			require.Contains(t, lacking, c.says)
		})
	}
}
