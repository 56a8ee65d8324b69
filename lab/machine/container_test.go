package machine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The folder of all labs may be a link, as where several checkouts share one.
func TestTheDeploymentIsFoundThroughALink(t *testing.T) {
	place, link := t.TempDir(), filepath.Join(t.TempDir(), "labs")
	require.NoError(t, os.Symlink(place, link))
	require.NoError(t, os.MkdirAll(filepath.Join(place, "ostree/deploy/rhcos/deploy/a.0"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(place, "ostree/boot.1/rhcos/b"), 0o755))
	require.NoError(t, os.Symlink("../../../deploy/rhcos/deploy/a.0", filepath.Join(place, "ostree/boot.1/rhcos/b/0")))
	found, err := deploymentOf(link, "ostree=/ostree/boot.1/rhcos/b/0")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(place, "ostree/deploy/rhcos/deploy/a.0"), found)

	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(place, "ostree/boot.1/rhcos/b/1")))
	_, err = deploymentOf(link, "ostree=/ostree/boot.1/rhcos/b/1")
	require.ErrorContains(t, err, "points outside of the sysroot")
}
