package seed

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLastMountAtAPlaceCounts(t *testing.T) {
	source, root := mountedAt("1 0 8:4 / / rw - xfs /dev/sda4 rw\n2 1 8:4 /ostree/deploy/rhcos/var/lib/containers /var/lib/containers rw - xfs /dev/sda4 rw\n", ContainerStorageDir)
	require.Equal(t, []string{"/dev/sda4", "/ostree/deploy/rhcos/var/lib/containers"}, []string{source, root})
	source, _ = mountedAt("1 0 8:4 / /var rw - xfs /dev/sda4 rw\n", ContainerStorageDir)
	require.Empty(t, source)
}
