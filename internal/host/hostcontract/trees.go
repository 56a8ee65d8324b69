package hostcontract

import (
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// TreesFixture is a subject of TestTrees.
type TreesFixture struct {
	Trees host.Trees
	// Files write what is mirrored, beneath the same root. A Linker tries links too.
	Files host.Files
	// Chtimes sets a file's modification time; nil leaves out what needs it.
	Chtimes func(path string, mtime time.Time) error
}

// TestTrees proves what host.Trees promises as far as it can be seen through host.Files.
// Owners, extended attributes and hard links are for the adapter's own tests.
func TestTrees(t *testing.T, fresh func(t *testing.T) TreesFixture) {
	t.Helper()
	contract(t, fresh, []behaviour[TreesFixture]{
		{"the target becomes equal to the source", mirrorEqual},
		{"what the source lacks goes", mirrorRemoves},
		{"a second pass copies only what changed", mirrorDelta},
		{"a live pass is completed by one that is not", mirrorLive},
		{"modes and times are kept", mirrorModes},
		{"kinds may change", mirrorKinds},
		{"links are copied as links", mirrorLinks},
		{"what is skipped is left alone on both sides", mirrorSkips},
		{"what is always copied is not judged by size and time", mirrorAlways},
		{"a missing source is an error", mirrorMissing},
		{"a tree is not mirrored into itself", mirrorItself},
		{"a done context ends the pass", mirrorCancelled},
		{"usage grows with what is written", usageGrows},
		{"free space and sync answer for existing folders", freeAndSync},
	})
}

const (
	mirrorFrom = inDir + "/from"
	mirrorTo   = inDir + "/to"
)

func (f TreesFixture) write(t *testing.T, files map[string]string) {
	t.Helper()
	for _, p := range slices.Sorted(maps.Keys(files)) {
		noError(t, f.Files.Write(p, []byte(files[p]), 0o600))
	}
}

func (f TreesFixture) mirror(t *testing.T, r host.CopyRequest) host.CopyStats {
	t.Helper()
	r.From, r.To = mirrorFrom, mirrorTo
	stats, err := f.Trees.Mirror(t.Context(), r)
	noError(t, err)
	return stats
}

// tree reads a whole tree: files by path below dir, folders with a trailing slash.
func (f TreesFixture) tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	var walk func(rel string)
	walk = func(rel string) {
		names, err := f.Files.List(dir + rel)
		noError(t, err)
		for _, name := range names {
			p := rel + "/" + name
			st, err := f.Files.Stat(dir + p)
			noError(t, err)
			switch {
			case st.IsDir():
				found[p+"/"] = ""
				walk(p)
			case st.Mode().IsRegular():
				found[p] = read(t, f.Files, dir+p)
			default:
				found[p] = st.Mode().Type().String()
			}
		}
	}
	walk("")
	return found
}

func (f TreesFixture) requireEqual(t *testing.T) {
	t.Helper()
	require.Equal(t, f.tree(t, mirrorFrom), f.tree(t, mirrorTo))
}

func mirrorEqual(t *testing.T, f TreesFixture) {
	f.write(t, map[string]string{mirrorFrom + "/a": "1", mirrorFrom + "/b/c": "22", mirrorFrom + "/b/d/e": strings.Repeat("3", 100_000), mirrorFrom + "/empty": ""})
	stats := f.mirror(t, host.CopyRequest{})
	f.requireEqual(t)
	require.Equal(t, 4, stats.Files)
	require.Equal(t, 4, stats.Copied)
	require.Zero(t, stats.Removed)
	f.mirror(t, host.CopyRequest{Live: true})
	f.requireEqual(t)
}

func mirrorRemoves(t *testing.T, f TreesFixture) {
	f.write(t, map[string]string{mirrorFrom + "/keep": "1", mirrorTo + "/old": "2", mirrorTo + "/dir/old": "3", mirrorTo + "/dir/sub/old": "4"})
	stats := f.mirror(t, host.CopyRequest{})
	f.requireEqual(t)
	require.NotZero(t, stats.Removed)
	noError(t, f.Files.Remove(mirrorFrom+"/keep"))
	f.mirror(t, host.CopyRequest{})
	require.Empty(t, f.tree(t, mirrorTo))
}

func mirrorDelta(t *testing.T, f TreesFixture) {
	f.write(t, map[string]string{mirrorFrom + "/same": "1", mirrorFrom + "/changes": "2", mirrorFrom + "/dir/same": "3"})
	f.settle(t)
	f.write(t, map[string]string{mirrorFrom + "/changes": "now longer", mirrorFrom + "/dir/new": "4"})
	stats := f.mirror(t, host.CopyRequest{})
	f.requireEqual(t)
	require.Equal(t, 2, stats.Copied)
	require.Equal(t, 4, stats.Files)
	f.settle(t)
}

// settle mirrors until a pass has nothing to copy. What was written in the moment before a pass may be copied by the next one too.
func (f TreesFixture) settle(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return f.mirror(t, host.CopyRequest{}).Copied == 0 }, 10*time.Second, time.Millisecond)
}

func mirrorLive(t *testing.T, f TreesFixture) {
	f.write(t, map[string]string{mirrorFrom + "/a": "1", mirrorFrom + "/b": "2", mirrorFrom + "/dir/c": "3"})
	f.mirror(t, host.CopyRequest{Live: true})
	f.write(t, map[string]string{mirrorFrom + "/a": "one", mirrorFrom + "/dir/d": "4"})
	noError(t, f.Files.Remove(mirrorFrom+"/b"))
	f.mirror(t, host.CopyRequest{})
	f.requireEqual(t)
}

func mirrorModes(t *testing.T, f TreesFixture) {
	noError(t, f.Files.Write(mirrorFrom+"/tool", []byte("1"), 0o755), f.Files.Write(mirrorFrom+"/secret", []byte("2"), 0o400))
	f.mirror(t, host.CopyRequest{})
	for _, name := range []string{"/tool", "/secret"} {
		want, err := f.Files.Stat(mirrorFrom + name)
		noError(t, err)
		got, err := f.Files.Stat(mirrorTo + name)
		noError(t, err)
		require.Equal(t, want.Mode(), got.Mode())
		require.True(t, want.ModTime().Equal(got.ModTime()), "%s: %s is not %s", name, got.ModTime(), want.ModTime())
	}
}

func mirrorKinds(t *testing.T, f TreesFixture) {
	f.write(t, map[string]string{mirrorFrom + "/one": "file", mirrorFrom + "/two/below": "folder"})
	f.write(t, map[string]string{mirrorTo + "/one/below": "folder", mirrorTo + "/two": "file"})
	f.mirror(t, host.CopyRequest{})
	f.requireEqual(t)
}

func mirrorLinks(t *testing.T, f TreesFixture) {
	l := linker(t, f.Files)
	f.write(t, map[string]string{mirrorFrom + "/file": "1"})
	noError(t, l.Symlink("file", mirrorFrom+"/link"), l.Symlink("/nowhere", mirrorFrom+"/dangling"))
	f.mirror(t, host.CopyRequest{})
	f.requireEqual(t)
	st, err := f.Files.Stat(mirrorTo + "/link")
	noError(t, err)
	require.Equal(t, fs.ModeSymlink, st.Mode().Type())
	require.Equal(t, "1", read(t, f.Files, mirrorTo+"/link"))
	noError(t, f.Files.Remove(mirrorFrom+"/link"), l.Symlink("dangling", mirrorFrom+"/link"))
	f.mirror(t, host.CopyRequest{})
	_, err = f.Files.Read(mirrorTo + "/link")
	require.ErrorIs(t, err, fs.ErrNotExist, "the link's new target is copied")
}

func mirrorSkips(t *testing.T, f TreesFixture) {
	f.write(t, map[string]string{
		mirrorFrom + "/a": "1", mirrorFrom + "/skip/x": "2", mirrorFrom + "/dir/skip": "3", mirrorFrom + "/dir/b": "4", mirrorFrom + "/skipped-not": "5",
		mirrorTo + "/skip/own": "6", mirrorTo + "/dir/skip": "own",
	})
	f.mirror(t, host.CopyRequest{Skip: []string{"skip", "dir/skip"}})
	require.Equal(t, map[string]string{
		"/a": "1", "/skipped-not": "5", "/dir/": "", "/dir/b": "4",
		"/skip/": "", "/skip/own": "6", "/dir/skip": "own",
	}, f.tree(t, mirrorTo))
}

func mirrorAlways(t *testing.T, f TreesFixture) {
	if f.Chtimes == nil {
		t.Skip("reason: the fixture cannot set times")
	}
	f.write(t, map[string]string{mirrorFrom + "/db/data": "before", mirrorFrom + "/other": "before"})
	f.mirror(t, host.CopyRequest{})
	st, err := f.Files.Stat(mirrorFrom + "/db/data")
	noError(t, err)
	f.write(t, map[string]string{mirrorFrom + "/db/data": "after."})
	noError(t, f.Chtimes(mirrorFrom+"/db/data", st.ModTime()))
	f.mirror(t, host.CopyRequest{Always: []string{"db"}})
	require.Equal(t, "after.", read(t, f.Files, mirrorTo+"/db/data"))
}

func mirrorMissing(t *testing.T, f TreesFixture) {
	f.write(t, map[string]string{mirrorTo + "/kept": "1"})
	_, err := f.Trees.Mirror(t.Context(), host.CopyRequest{From: mirrorFrom, To: mirrorTo})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, "1", read(t, f.Files, mirrorTo+"/kept"), "nothing is deleted for want of a source")
}

func mirrorItself(t *testing.T, f TreesFixture) {
	f.write(t, map[string]string{mirrorFrom + "/a": "1"})
	for _, r := range []host.CopyRequest{{From: mirrorFrom, To: mirrorFrom + "/below"}, {From: mirrorFrom, To: mirrorFrom}} {
		_, err := f.Trees.Mirror(t.Context(), r)
		require.Error(t, err)
	}
	require.Equal(t, "1", read(t, f.Files, mirrorFrom+"/a"))
}

func mirrorCancelled(t *testing.T, f TreesFixture) {
	f.write(t, map[string]string{mirrorFrom + "/a": "1"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Trees.Mirror(ctx, host.CopyRequest{From: mirrorFrom, To: mirrorTo})
	require.ErrorIs(t, err, context.Canceled)
}

func usageGrows(t *testing.T, f TreesFixture) {
	f.write(t, map[string]string{mirrorFrom + "/a": "1"})
	before, err := f.Trees.Usage(t.Context(), mirrorFrom)
	noError(t, err)
	f.write(t, map[string]string{mirrorFrom + "/dir/b": strings.Repeat("x", 1<<20)})
	after, err := f.Trees.Usage(t.Context(), mirrorFrom)
	noError(t, err)
	require.GreaterOrEqual(t, after.Bytes-before.Bytes, int64(1<<20))
	require.Greater(t, after.Inodes, before.Inodes)
	_, err = f.Trees.Usage(t.Context(), inDir+"/none")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func freeAndSync(t *testing.T, f TreesFixture) {
	f.write(t, map[string]string{mirrorFrom + "/a": "1"})
	free, err := f.Trees.Free(mirrorFrom)
	noError(t, err)
	require.Positive(t, free.Bytes)
	require.Positive(t, free.Inodes)
	_, err = f.Trees.Shares(mirrorFrom)
	noError(t, err)
	_, err = f.Trees.Shares(inDir + "/none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	noError(t, f.Trees.Sync(mirrorFrom))
	require.Error(t, f.Trees.Sync(inDir+"/none"))
}
