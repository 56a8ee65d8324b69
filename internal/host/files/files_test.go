package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

var _ host.Files = (*Files)(nil)

// ostreeRoot lays out the links an ostree host has, absolute and relative ones.
func ostreeRoot(t *testing.T) (*Files, string) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"usr", "var", "etc", "sysroot/ostree/deploy/old"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for link, target := range map[string]string{
		"usr/local": "../var/usrlocal", "ostree": "sysroot/ostree", "abs": "/var/abs",
		"up": "../../../../../../etc", "etc/link.conf": "../var/real.conf", "loop": "loop",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, link)))
	}
	return New(root), root
}

func TestLinksResolveBeneathTheRoot(t *testing.T) {
	f, root := ostreeRoot(t)
	for path, lands := range map[string]string{
		"/usr/local/bin/lca-cli":  "var/usrlocal/bin/lca-cli", // link to a folder yet to be made
		"/ostree/deploy/old/mark": "sysroot/ostree/deploy/old/mark",
		"/abs/deep/er/file":       "var/abs/deep/er/file",
		"/up/passwd":              "etc/passwd",
		"/etc/link.conf":          "var/real.conf", // the link stays, its target is written
		"/../../plain":            "plain",
	} {
		require.NoError(t, f.Write(path, []byte(path), 0o640), path)
		got, err := os.ReadFile(filepath.Join(root, lands))
		require.NoError(t, err, path)
		require.Equal(t, path, string(got))
		back, err := f.Read(path)
		require.NoError(t, err)
		require.Equal(t, path, string(back))
	}
	link, err := os.Readlink(filepath.Join(root, "etc/link.conf"))
	require.NoError(t, err)
	require.Equal(t, "../var/real.conf", link)
	require.Error(t, f.Write("/loop/x", nil, 0o600))
	require.Error(t, f.Write("relative", nil, 0o600))
	real, err := f.RealPath("/ostree/deploy/old/mark")
	require.NoError(t, err)
	require.Equal(t, "/sysroot/ostree/deploy/old/mark", real)
}

func TestWriteReplacesInOneStep(t *testing.T) {
	f, root := ostreeRoot(t)
	path := filepath.Join(root, "etc/a")
	require.NoError(t, f.Write("/etc/a", []byte("one"), 0o600))
	held, err := os.Open(path)
	require.NoError(t, err)
	defer held.Close()
	require.NoError(t, f.Write("/etc/a", []byte("two"), 0o644))
	buf := make([]byte, 8)
	n, err := held.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "one", string(buf[:n]), "a reader of the old file keeps the old file")
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o644), st.Mode())
	entries, err := f.List("/etc")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "link.conf"}, entries, "no temporary file is left")

	require.Error(t, f.Write("/etc", []byte("x"), 0o600), "a folder is not replaced by a file")
	entries, err = f.List("/etc")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "link.conf"}, entries)
}

func TestNewFoldersArePrivate(t *testing.T) {
	f, root := ostreeRoot(t)
	require.NoError(t, f.Write("/var/lib/lca/x", nil, 0o600))
	for _, dir := range []string{"var/lib", "var/lib/lca"} {
		st, err := os.Stat(filepath.Join(root, dir))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o700), st.Mode().Perm())
	}
}

func TestAppend(t *testing.T) {
	f, root := ostreeRoot(t)
	for _, rec := range []string{"one\n", "two\n"} {
		require.NoError(t, f.Append("/var/log/journal", []byte(rec), 0o600))
	}
	got, err := f.Read("/var/log/journal")
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", string(got))
	st, err := os.Stat(filepath.Join(root, "var/log/journal"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), st.Mode())
}

func TestMissing(t *testing.T) {
	f, _ := ostreeRoot(t)
	_, err := f.Read("/nowhere/file")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = f.Stat("/nowhere/file")
	require.ErrorIs(t, err, fs.ErrNotExist)
	names, err := f.List("/nowhere")
	require.NoError(t, err)
	require.Empty(t, names)
	require.NoError(t, f.Remove("/nowhere/file"))
	require.NoError(t, f.Remove("/etc/file"))
}

func TestRemoveTreeStaysInside(t *testing.T) {
	f, root := ostreeRoot(t)
	require.NoError(t, f.Write("/var/keep", []byte("x"), 0o600))
	require.NoError(t, f.Write("/etc/dir/a/b", nil, 0o600))
	require.NoError(t, os.Symlink("/var", filepath.Join(root, "etc/dir/a/to-var")))
	require.NoError(t, f.Remove("/etc/dir"))
	require.NoDirExists(t, filepath.Join(root, "etc/dir"))
	require.FileExists(t, filepath.Join(root, "var/keep"))
	require.NoError(t, f.Remove("/etc/link.conf"), "a link itself goes, not its target")
	require.Error(t, f.Remove("/"))
}

func TestStatDoesNotFollowTheLastLink(t *testing.T) {
	f, _ := ostreeRoot(t)
	st, err := f.Stat("/ostree")
	require.NoError(t, err)
	require.Equal(t, fs.ModeSymlink, st.Mode().Type())
	require.Equal(t, "ostree", st.Name())
	st, err = f.StatTarget("/ostree")
	require.NoError(t, err)
	require.True(t, st.IsDir())
}

func TestReadRefusesWhatIsNoFile(t *testing.T) {
	f, root := ostreeRoot(t)
	require.NoError(t, unix.Mkfifo(filepath.Join(root, "etc/pipe"), 0o600))
	_, err := f.Read("/etc/pipe")
	require.ErrorIs(t, err, unix.EINVAL)
	_, err = f.Read("/etc")
	require.ErrorIs(t, err, unix.EISDIR)
}

func TestErrorsNameThePathOnce(t *testing.T) {
	f, _ := ostreeRoot(t)
	err := f.Write("/etc/"+strings.Repeat("n", 300), nil, 0o600)
	var at *fs.PathError
	require.True(t, errors.As(err, &at))
	require.Equal(t, 1, strings.Count(err.Error(), "/etc/"))
	require.ErrorIs(t, err, unix.ENAMETOOLONG)
}
