package trees

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// oldDay is a file time with nanoseconds, long enough ago to count as quiet.
var oldDay = time.Date(2025, 3, 4, 5, 6, 7, 123456789, time.UTC)

// plant makes a tree with all that a /var holds: nested folders, hard links, holes, links that
// lead nowhere, pipes, sockets, extended attributes, odd modes and names.
func plant(t testing.TB, root string) {
	t.Helper()
	for _, dir := range []string{"lib/etcd/member", "lib/kubelet/pods", "log", "empty", "deep/a/b/c/d"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	write(t, root, "lib/etcd/member/db", strings.Repeat("etcd", 50_000))
	write(t, root, "log/messages", "line\n")
	write(t, root, "deep/a/b/c/d/leaf", "leaf")
	write(t, root, "zero", "")
	write(t, root, "name with\nnewline", "odd")
	for i := range 200 {
		write(t, root, fmt.Sprintf("lib/kubelet/pods/f%03d", i), strings.Repeat("x", i*17))
	}
	require.NoError(t, os.Link(filepath.Join(root, "log/messages"), filepath.Join(root, "deep/hard")))
	require.NoError(t, os.Link(filepath.Join(root, "log/messages"), filepath.Join(root, "a-first-name")))
	require.NoError(t, os.Symlink("/no/where", filepath.Join(root, "dangling")))
	require.NoError(t, os.Symlink("log", filepath.Join(root, "link-to-dir")))
	require.NoError(t, unix.Mkfifo(filepath.Join(root, "pipe"), 0o640))
	require.NoError(t, unix.Mknod(filepath.Join(root, "sock"), unix.S_IFSOCK|0o600, 0))
	holes(t, filepath.Join(root, "sparse"))
	require.NoError(t, os.Chmod(filepath.Join(root, "zero"), 0o4711|os.ModeSetuid))
	require.NoError(t, os.Chmod(filepath.Join(root, "empty"), 0o1777|os.ModeSticky))
	setXattr(t, filepath.Join(root, "log/messages"), "user.note", "kept")
	setXattr(t, filepath.Join(root, "empty"), "user.dir", "too")
	age(t, root, oldDay)
}

func write(t testing.TB, root, name, data string) {
	t.Helper()
	path := filepath.Join(root, name)
	require.NoError(t, os.WriteFile(path, []byte(data), 0o640))
}

// holes makes a file of 8 MiB that holds 8 KiB.
func holes(t testing.TB, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	for _, off := range []int64{0, 5 << 20} {
		_, err := f.WriteAt([]byte(strings.Repeat("D", 4096)), off)
		require.NoError(t, err)
	}
	require.NoError(t, f.Truncate(8<<20))
}

func setXattr(t testing.TB, path, name, value string) {
	t.Helper()
	if err := unix.Lsetxattr(path, name, []byte(value), 0); err != nil {
		t.Skipf("reason: the file system of %s stores no attribute %s: %v; set TMPDIR to one that does", path, name, err)
	}
}

// tick waits until a file changed from now on gets another time than those changed before.
func tick(t testing.TB, dir string) {
	t.Helper()
	path := filepath.Join(dir, "clock")
	changed := func() unix.Timespec {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		var st unix.Stat_t
		require.NoError(t, unix.Stat(path, &st))
		require.NoError(t, os.Remove(path))
		return st.Ctim
	}
	for first := changed(); !isAfter(changed(), first); {
	}
}

// age sets all times of a tree, folders last.
func age(t testing.TB, root string, when time.Time) {
	t.Helper()
	ts, err := unix.TimeToTimespec(when)
	require.NoError(t, err)
	var all []string
	require.NoError(t, filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		all = append(all, p)
		return err
	}))
	for _, p := range slices.Backward(all) {
		require.NoError(t, unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW))
	}
}

// describe renders everything about a tree that a mirror must preserve, one line a file.
func describe(t testing.TB, root string) []string {
	t.Helper()
	first := map[inode]string{}
	var out []string
	require.NoError(t, filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		require.NoError(t, err)
		rel, _ := filepath.Rel(root, p)
		m, err := statAt(unix.AT_FDCWD, p)
		require.NoError(t, err)
		line := fmt.Sprintf("%q mode=%o owner=%d:%d mtime=%d.%d", rel, m.mode, m.uid, m.gid, m.mtime.Sec, m.mtime.Nsec)
		switch m.kind() {
		case unix.S_IFREG:
			line += fmt.Sprintf(" size=%d sum=%x", m.size, sum(t, p))
			if m.nlink > 1 {
				if _, ok := first[m.inode()]; !ok {
					first[m.inode()] = rel
				}
				line += " same-as=" + first[m.inode()]
			}
		case unix.S_IFLNK:
			target, err := os.Readlink(p)
			require.NoError(t, err)
			line += " -> " + target
		case unix.S_IFDIR:
		default:
			line += fmt.Sprintf(" rdev=%d", m.rdev)
		}
		out = append(out, line+attrsOf(t, p))
		return nil
	}))
	return out
}

func sum(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	require.NoError(t, err)
	return h.Sum(nil)[:6]
}

func attrsOf(t testing.TB, path string) string {
	t.Helper()
	m := &mirror{}
	m.onlyOwn.Store(os.Geteuid() != 0)
	names, err := m.listXattrs(path)
	require.NoError(t, err)
	slices.Sort(names)
	var out strings.Builder
	for _, n := range names {
		v, err := readXattr(path, n)
		require.NoError(t, err)
		fmt.Fprintf(&out, " %s=%q", n, v)
	}
	return out.String()
}

func requireSame(t testing.TB, from, to string) {
	t.Helper()
	require.Equal(t, describe(t, from), describe(t, to))
}
