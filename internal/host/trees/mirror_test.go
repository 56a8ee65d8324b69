package trees

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

var _ host.Trees = (*Trees)(nil)

// pair is a planted source and an empty target below one root.
func pair(t testing.TB) (tr *Trees, root, from, to string) {
	t.Helper()
	root = t.TempDir()
	from, to = filepath.Join(root, "from"), filepath.Join(root, "to")
	require.NoError(t, os.Mkdir(from, 0o750))
	plant(t, from)
	tick(t, root)
	return New(Options{Root: root}), root, from, to
}

func run(t testing.TB, tr *Trees, r host.CopyRequest) host.CopyStats {
	t.Helper()
	r.From, r.To = "/from", "/to"
	stats, err := tr.Mirror(context.Background(), r)
	require.NoError(t, err)
	return stats
}

func TestMirrorPreservesEverything(t *testing.T) {
	tr, _, from, to := pair(t)
	stats := run(t, tr, host.CopyRequest{})
	requireSame(t, from, to)
	require.Equal(t, stats.Files, stats.Copied)
	var st unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(to, "sparse"), &st))
	require.Less(t, st.Blocks*512, int64(1<<20), "holes stay holes")
}

func TestSecondPassCopiesNothing(t *testing.T) {
	tr, _, from, to := pair(t)
	first := run(t, tr, host.CopyRequest{})
	second := run(t, tr, host.CopyRequest{})
	require.Equal(t, first.Files, second.Files)
	require.Zero(t, second.Copied)
	require.Zero(t, second.Bytes)
	require.Zero(t, second.Removed)
	requireSame(t, from, to)
}

func TestSecondPassSettlesEveryKindOfChange(t *testing.T) {
	tr, _, from, to := pair(t)
	run(t, tr, host.CopyRequest{})
	p := func(name string) string { return filepath.Join(from, name) }
	write(t, from, "log/messages", "line\nmore\n") // through one of three names
	write(t, from, "new", "new")
	require.NoError(t, os.RemoveAll(p("deep/a")))
	require.NoError(t, os.Remove(p("dangling")))
	require.NoError(t, os.Symlink("elsewhere", p("dangling")))
	require.NoError(t, os.Remove(p("zero")))
	require.NoError(t, os.Mkdir(p("zero"), 0o700)) // file becomes folder
	require.NoError(t, os.RemoveAll(p("empty")))
	write(t, from, "empty", "now a file") // folder becomes file
	require.NoError(t, os.Chmod(p("lib/kubelet"), 0o711))
	require.NoError(t, os.Chmod(p("lib/kubelet/pods/f007"), 0o600))
	setXattr(t, p("lib/kubelet/pods/f008"), "user.added", "1")
	require.NoError(t, unix.Removexattr(p("log/messages"), "user.note"))
	require.NoError(t, unix.UtimesNanoAt(unix.AT_FDCWD, p("link-to-dir"), []unix.Timespec{{Sec: 5}, {Sec: 7}}, unix.AT_SYMLINK_NOFOLLOW))
	require.NoError(t, unix.UtimesNanoAt(unix.AT_FDCWD, p("pipe"), []unix.Timespec{{Sec: 5}, {Sec: 7}}, 0))
	require.NoError(t, os.Remove(p("deep/hard"))) // a link becomes a file of its own
	write(t, from, "deep/hard", "line\nmore\n")
	run(t, tr, host.CopyRequest{})
	requireSame(t, from, to)
}

func TestForgedTimeIsFoundByTheChangeTime(t *testing.T) {
	tr, _, from, to := pair(t)
	run(t, tr, host.CopyRequest{})
	write(t, from, "log/messages", "LINE\n") // same size
	age(t, from, oldDay)                     // and the old time back
	run(t, tr, host.CopyRequest{})
	requireSame(t, from, to)
}

// A link moves the change time of the copy, which must not hide what happened to the original meanwhile.
func TestForgedTimeBetweenCopyAndLinkIsFound(t *testing.T) {
	tr, root, from, to := pair(t)
	m := tr.newPass(t.Context(), host.CopyRequest{From: "/from", To: "/to", Live: true})
	src, err := os.Open(from)
	require.NoError(t, err)
	defer src.Close()
	require.NoError(t, os.Mkdir(to, 0o750))
	dst, err := os.Open(to)
	require.NoError(t, err)
	defer dst.Close()
	require.NoError(t, m.withFolders(src, dst, func() error {
		m.submitRoot(true)
		require.NoError(t, m.pool.run(2))
		write(t, from, "log/messages", "LINE\n")
		age(t, from, oldDay)
		tick(t, root)
		require.NoError(t, m.linkAll())
		return m.finishPass()
	}))
	run(t, tr, host.CopyRequest{})
	requireSame(t, from, to)
}

func TestAlwaysCopies(t *testing.T) {
	tr, _, from, to := pair(t)
	run(t, tr, host.CopyRequest{})
	// The copy is damaged in a way no time tells.
	path := filepath.Join(to, "lib/etcd/member/db")
	write(t, to, "lib/etcd/member/db", strings.Repeat("ETCD", 50_000))
	age(t, path, oldDay)
	require.Zero(t, run(t, tr, host.CopyRequest{}).Copied)
	require.Equal(t, 1, run(t, tr, host.CopyRequest{Always: []string{"lib/etcd/"}}).Copied)
	requireSame(t, from, to)
}

func TestSkipIsNeitherCopiedNorRemoved(t *testing.T) {
	tr, _, _, to := pair(t)
	require.NoError(t, os.MkdirAll(filepath.Join(to, "only-here/kept"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(to, "only-here/gone"), 0o700))
	run(t, tr, host.CopyRequest{Skip: []string{"/lib/kubelet", "log/messages", "only-here/kept"}})
	require.NoDirExists(t, filepath.Join(to, "lib/kubelet"))
	require.NoFileExists(t, filepath.Join(to, "log/messages"))
	require.FileExists(t, filepath.Join(to, "lib/etcd/member/db"))
	require.DirExists(t, filepath.Join(to, "only-here/kept"))
	require.NoDirExists(t, filepath.Join(to, "only-here/gone"))
}

func TestCopiesAreIndependentOfOldLinks(t *testing.T) {
	tr, root, from, to := pair(t)
	require.NoError(t, os.MkdirAll(filepath.Join(to, "log"), 0o755))
	// What is to be replaced is linked from outside, as in an ostree checkout.
	write(t, root, "outside", "object")
	require.NoError(t, os.Link(filepath.Join(root, "outside"), filepath.Join(to, "log/messages")))
	run(t, tr, host.CopyRequest{})
	data, err := os.ReadFile(filepath.Join(root, "outside"))
	require.NoError(t, err)
	require.Equal(t, "object", string(data))
	requireSame(t, from, to)
}

func TestWrongLinksInTheTargetAreTornApart(t *testing.T) {
	tr, _, from, to := pair(t)
	write(t, from, "twin1", "same")
	write(t, from, "twin2", "same")
	age(t, from, oldDay)
	run(t, tr, host.CopyRequest{})
	require.NoError(t, os.Remove(filepath.Join(to, "twin2")))
	require.NoError(t, os.Link(filepath.Join(to, "twin1"), filepath.Join(to, "twin2")))
	run(t, tr, host.CopyRequest{})
	requireSame(t, from, to)
}

func TestLivePassThenFinalPass(t *testing.T) {
	tr, _, from, to := pair(t)
	stop, busy := make(chan struct{}), sync.WaitGroup{}
	busy.Go(func() { churn(t, from, stop) })
	for range 5 {
		run(t, tr, host.CopyRequest{Live: true})
	}
	close(stop)
	busy.Wait()
	run(t, tr, host.CopyRequest{})
	requireSame(t, from, to)
}

// churn writes, replaces, links and removes files until told to stop.
func churn(t *testing.T, root string, stop chan struct{}) {
	path := filepath.Join(root, "lib/kubelet/pods")
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		f := filepath.Join(path, "f"+string(rune('a'+i%20)))
		d := filepath.Join(path, "d"+string(rune('a'+i%7)))
		switch i % 5 {
		case 0, 1:
			_ = os.WriteFile(f, []byte(strings.Repeat("y", i%5000)), 0o600)
		case 2:
			_ = os.Link(f, filepath.Join(root, "log", filepath.Base(f)))
		case 3:
			_ = os.RemoveAll(f)
			_ = os.RemoveAll(d)
		case 4:
			_ = os.MkdirAll(filepath.Join(d, "x"), 0o700)
			_ = os.WriteFile(filepath.Join(d, "x/y"), []byte("z"), 0o600)
		}
	}
}

func TestMemoryMappedWritesBetweenPassesAreSeen(t *testing.T) {
	tr, _, from, to := pair(t)
	f, err := os.OpenFile(filepath.Join(from, "lib/etcd/member/db"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(mem)) }()
	mem[0] = '1' // dirties the page: later writes to it move no time
	run(t, tr, host.CopyRequest{Live: true})
	mem[0] = '2'
	run(t, tr, host.CopyRequest{})
	data, err := os.ReadFile(filepath.Join(to, "lib/etcd/member/db"))
	require.NoError(t, err)
	require.Equal(t, byte('2'), data[0])
}

func TestLivePassDistrustsFreshFiles(t *testing.T) {
	tr, _, from, to := pair(t)
	write(t, from, "fresh", "one")
	require.Positive(t, run(t, tr, host.CopyRequest{Live: true}).Copied)
	second := run(t, tr, host.CopyRequest{})
	require.Equal(t, 1, second.Copied, "just the file written a moment ago is copied again")
	requireSame(t, from, to)
}

func TestPowerCutDuringAPassMakesTheNextDistrustful(t *testing.T) {
	tr, _, from, to := pair(t)
	first := run(t, tr, host.CopyRequest{})
	// What a cut in mid-pass leaves: the mark of an earlier boot, and a file whose size and
	// time reached the disk while its contents did not.
	write(t, to, "lib/etcd/member/db", strings.Repeat("\x00", 200_000))
	age(t, filepath.Join(to, "lib/etcd/member/db"), oldDay)
	setXattr(t, to, markAttr, "another-boot")
	again := run(t, tr, host.CopyRequest{})
	require.Equal(t, first.Bytes, again.Bytes, "all of it is copied again")
	requireSame(t, from, to)
	require.Zero(t, run(t, tr, host.CopyRequest{}).Copied)
}

func TestCancelledPassIsTakenUp(t *testing.T) {
	tr, _, from, to := pair(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tr.Mirror(ctx, host.CopyRequest{From: "/from", To: "/to"})
	require.ErrorIs(t, err, context.Canceled)
	run(t, tr, host.CopyRequest{})
	requireSame(t, from, to)
}

func TestRefusals(t *testing.T) {
	tr, _, _, _ := pair(t)
	for _, r := range []host.CopyRequest{
		{From: "/from", To: "/from"}, {From: "/from", To: "/from/lib/copy"}, {From: "/from/lib", To: "/from"},
		{From: "/absent", To: "/to"}, {From: "/from/zero", To: "/to"}, {From: "/from", To: "/from/zero"},
	} {
		_, err := tr.Mirror(t.Context(), r)
		require.Error(t, err, "%v", r)
	}
}

func TestUsageFreeSync(t *testing.T) {
	tr, root, from, _ := pair(t)
	used, err := tr.Usage(t.Context(), "/from")
	require.NoError(t, err)
	require.Greater(t, used.Bytes, int64(200_000))
	require.Less(t, used.Bytes, int64(6<<20), "holes do not count")
	require.NoError(t, os.Link(filepath.Join(from, "lib/etcd/member/db"), filepath.Join(from, "again")))
	again, err := tr.Usage(t.Context(), "/from")
	require.NoError(t, err)
	require.Equal(t, used.Inodes, again.Inodes)
	require.InDelta(t, used.Bytes, again.Bytes, 64<<10, "a second name costs no more than its entry")

	free, err := tr.Free("/from")
	require.NoError(t, err)
	var st unix.Statfs_t
	require.NoError(t, unix.Statfs(root, &st))
	require.InDelta(t, float64(st.Bfree)*float64(st.Frsize), float64(free.Bytes), float64(1<<30))
	require.NoError(t, tr.Sync("/from"))
	require.Error(t, tr.Sync("/absent"))
}

func TestTimesSurviveTheWalk(t *testing.T) {
	tr, _, _, to := pair(t)
	run(t, tr, host.CopyRequest{})
	st, err := os.Stat(filepath.Join(to, "deep"))
	require.NoError(t, err)
	require.Equal(t, oldDay, st.ModTime().UTC(), "the folder got a hard link after its walk")
}
