package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("reason: owners, labels, flags and mounts need root")
	}
}

func TestWriteKeepsOwnerAndLabel(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	path := filepath.Join(root, "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chown(path, 12, 34))
	const label = "system_u:object_r:etc_t:s0"
	if err := unix.Lsetxattr(path, labelAttr, []byte(label), 0); err != nil {
		t.Skipf("reason: the file system of %s stores no labels: %v", root, err)
	}
	require.NoError(t, New(root).Write("/f", []byte("new"), 0o640))
	var st unix.Stat_t
	require.NoError(t, unix.Stat(path, &st))
	require.Equal(t, [2]uint32{12, 34}, [2]uint32{st.Uid, st.Gid})
	buf := make([]byte, 100)
	n, err := unix.Lgetxattr(path, labelAttr, buf)
	require.NoError(t, err)
	require.Equal(t, label, string(buf[:n]))
}

// TestRemoveForcedTakesProtectedFilesToo: a file and its folder with chattr +i, a log with +a. Remove names the first of them.
func TestRemoveForcedTakesProtectedFilesToo(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	f := New(root)
	require.NoError(t, f.Write("/tree/d/fixed", nil, 0o600))
	require.NoError(t, f.Write("/tree/log", nil, 0o600))
	for _, protect := range []struct {
		path string
		flag int
	}{{"tree/d/fixed", immutableFlag}, {"tree/log", appendFlag}, {"tree/d", immutableFlag}} {
		file, err := os.Open(filepath.Join(root, protect.path))
		require.NoError(t, err)
		defer file.Close()
		if err := unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, protect.flag); err != nil {
			t.Skipf("reason: the file system of %s has no immutable flag: %v", root, err)
		}
	}
	t.Cleanup(func() { _ = f.RemoveForced("/tree") })
	require.ErrorIs(t, f.Remove("/tree"), unix.EPERM)
	require.NoError(t, f.RemoveForced("/tree"))
	_, err := f.Stat("/tree")
	require.ErrorIs(t, err, unix.ENOENT)
}

func TestRemoveStopsAtAMount(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	f := New(root)
	require.NoError(t, f.Write("/outside/precious", nil, 0o600))
	require.NoError(t, f.Write("/tree/mnt/below", nil, 0o600))
	target := filepath.Join(root, "tree/mnt")
	// A bind mount of the same file system: the device number alone would not tell.
	if err := unix.Mount(filepath.Join(root, "outside"), target, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("reason: cannot mount here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
	require.ErrorIs(t, f.Remove("/tree"), unix.EBUSY)
	require.FileExists(t, filepath.Join(root, "outside/precious"))
}
