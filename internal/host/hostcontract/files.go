package hostcontract

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Linker is what TestFiles uses, where the subject has it, to try links.
type Linker interface {
	// Symlink makes path a link to target, and missing folders above it.
	Symlink(target, path string) error
}

// inDir is the folder that contracts work in.
const inDir = "/var/lib/lca-contract"

// TestFiles proves what host.Files promises. Where the subject is also a Linker, links are
// tried too. Its root must not be the root of the machine that runs the test.
func TestFiles(t *testing.T, fresh func(t *testing.T) host.Files) {
	t.Helper()
	contract(t, fresh, []behaviour[host.Files]{
		{"a missing file is fs.ErrNotExist", missingFile},
		{"a written file reads back, with its mode", writtenFile},
		{"missing folders are made private to root", madeFolders},
		{"writing again replaces content and mode", replacedFile},
		{"readers see the old or the new file, never a part", atomicWrite},
		{"a write leaves nothing else behind", noLeftovers},
		{"appending makes the file and then adds to it", appended},
		{"removing takes a file, a tree, or nothing", removed},
		{"a folder is neither read nor overwritten", foldersAreNotFiles},
		{"listing is sorted, and empty for a missing folder", sortedListing},
		{"dots do not lead out of the root", dotsStayInside},
		{"relative paths are refused", relativeRefused},
		{"links do not lead out of the root", linksStayInside},
		{"a link at the end is followed by Read and Write, and not by Stat", linkAtEnd},
		{"removing a link spares what it leads to", removedLink},
	})
}

func missingFile(t *testing.T, f host.Files) {
	_, err := f.Read(inDir + "/none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = f.Stat(inDir + "/none")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func writtenFile(t *testing.T, f host.Files) {
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o755} {
		p := fmt.Sprintf("%s/%o", inDir, mode)
		noError(t, f.Write(p, []byte("text"), mode))
		require.Equal(t, "text", read(t, f, p))
		st, err := f.Stat(p)
		noError(t, err)
		require.Equal(t, mode, st.Mode())
		require.EqualValues(t, 4, st.Size())
		require.Equal(t, path.Base(p), st.Name())
	}
	noError(t, f.Write(inDir+"/empty", nil, 0o600))
	require.Empty(t, read(t, f, inDir+"/empty"))
}

func read(t *testing.T, f host.Files, p string) string {
	t.Helper()
	data, err := f.Read(p)
	noError(t, err)
	return string(data)
}

func madeFolders(t *testing.T, f host.Files) {
	noError(t, f.Write(inDir+"/a/b/c", nil, 0o644))
	for _, dir := range []string{inDir + "/a", inDir + "/a/b"} {
		st, err := f.Stat(dir)
		noError(t, err)
		require.True(t, st.IsDir())
		require.Equal(t, fs.FileMode(0o700), st.Mode().Perm())
	}
}

func replacedFile(t *testing.T, f host.Files) {
	p := inDir + "/file"
	noError(t, f.Write(p, []byte("a longer first text"), 0o600), f.Write(p, []byte("second"), 0o640))
	require.Equal(t, "second", read(t, f, p))
	st, err := f.Stat(p)
	noError(t, err)
	require.Equal(t, fs.FileMode(0o640), st.Mode().Perm())
}

// atomicWrite reads all the while that two contents take turns.
func atomicWrite(t *testing.T, f host.Files) {
	p := inDir + "/file"
	a, b := strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<16)
	noError(t, f.Write(p, []byte(a), 0o600))
	var writer sync.WaitGroup
	done := make(chan struct{})
	var failed error
	writer.Add(1)
	go func() {
		defer writer.Done()
		defer close(done)
		for i := 0; i < 20 && failed == nil; i++ {
			failed = f.Write(p, []byte([]string{b, a}[i%2]), 0o600)
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		got := read(t, f, p)
		require.True(t, got == a || got == b, "a part of a write was seen: %d bytes", len(got))
	}
	writer.Wait()
	noError(t, failed)
}

func noLeftovers(t *testing.T, f host.Files) {
	noError(t, f.Write(inDir+"/file", []byte("1"), 0o600), f.Write(inDir+"/file", []byte("2"), 0o600))
	names, err := f.List(inDir)
	noError(t, err)
	require.Equal(t, []string{"file"}, names)
}

func appended(t *testing.T, f host.Files) {
	p := inDir + "/journal/log"
	noError(t, f.Append(p, []byte("one\n"), 0o600), f.Append(p, []byte("two\n"), 0o600))
	require.Equal(t, "one\ntwo\n", read(t, f, p))
	st, err := f.Stat(p)
	noError(t, err)
	require.Equal(t, fs.FileMode(0o600), st.Mode().Perm())
}

func removed(t *testing.T, f host.Files) {
	noError(t, f.Write(inDir+"/tree/a/b", nil, 0o600), f.Write(inDir+"/tree/c", nil, 0o600), f.Write(inDir+"/file", nil, 0o600))
	for range 2 {
		noError(t, f.Remove(inDir+"/tree"), f.Remove(inDir+"/file"), f.Remove(inDir+"/not/there"))
	}
	names, err := f.List(inDir)
	noError(t, err)
	require.Empty(t, names)
}

func foldersAreNotFiles(t *testing.T, f host.Files) {
	noError(t, f.Write(inDir+"/dir/file", nil, 0o600))
	_, err := f.Read(inDir + "/dir")
	require.Error(t, err)
	require.Error(t, f.Write(inDir+"/dir", []byte("text"), 0o600))
	require.Error(t, f.Write(inDir+"/dir/file/below", nil, 0o600), "a file is no folder")
	require.Equal(t, "", read(t, f, inDir+"/dir/file"))
}

func sortedListing(t *testing.T, f host.Files) {
	names, err := f.List(inDir + "/none")
	noError(t, err)
	require.Empty(t, names)
	for _, name := range []string{"c", "a", "b/below"} {
		noError(t, f.Write(path.Join(inDir, name), nil, 0o600))
	}
	names, err = f.List(inDir)
	noError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, names)
}

func dotsStayInside(t *testing.T, f host.Files) {
	noError(t, f.Write("/../../../../../../../.."+inDir+"/file", []byte("inside"), 0o600))
	require.Equal(t, "inside", read(t, f, inDir+"/file"))
	_, err := f.Read("/../../../../../../../../etc/passwd")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func relativeRefused(t *testing.T, f host.Files) {
	require.Error(t, f.Write("lca-contract/file", nil, 0o600))
	_, err := f.Read("lca-contract/file")
	require.Error(t, err)
	_, err = os.Stat("lca-contract")
	require.ErrorIs(t, err, fs.ErrNotExist, "the working folder is not to be touched")
}

func linker(t *testing.T, f host.Files) Linker {
	t.Helper()
	l, ok := f.(Linker)
	if !ok {
		t.Skip("reason: the subject has no Symlink method; wrap it in one that makes links beneath its root")
	}
	return l
}

func linksStayInside(t *testing.T, f host.Files) {
	l := linker(t, f)
	noError(t,
		l.Symlink("/etc/passwd", inDir+"/absolute"), l.Symlink("../../../../../../../../etc/passwd", inDir+"/relative"),
		l.Symlink("/etc", inDir+"/folder"), l.Symlink("loop", inDir+"/loop"))
	for _, p := range []string{"/absolute", "/relative", "/folder/passwd", "/loop"} {
		_, err := f.Read(inDir + p)
		require.Error(t, err, p)
	}
	noError(t, f.Write(inDir+"/inner/file", []byte("inside"), 0o600), l.Symlink(inDir+"/inner", inDir+"/door"))
	require.Equal(t, "inside", read(t, f, inDir+"/door/file"), "an absolute link is taken as inside the root")
	noError(t, f.Write(inDir+"/door/second", []byte("2"), 0o600))
	require.Equal(t, "2", read(t, f, inDir+"/inner/second"))
}

func linkAtEnd(t *testing.T, f host.Files) {
	l := linker(t, f)
	noError(t, f.Write(inDir+"/file", []byte("text"), 0o600), l.Symlink("file", inDir+"/link"))
	require.Equal(t, "text", read(t, f, inDir+"/link"))
	noError(t, f.Write(inDir+"/link", []byte("new"), 0o600))
	require.Equal(t, "new", read(t, f, inDir+"/file"))
	st, err := f.Stat(inDir + "/link")
	noError(t, err)
	require.NotZero(t, st.Mode()&fs.ModeSymlink)
}

func removedLink(t *testing.T, f host.Files) {
	l := linker(t, f)
	noError(t, f.Write(inDir+"/dir/file", []byte("text"), 0o600), l.Symlink("dir", inDir+"/link"),
		f.Write(inDir+"/tree/other", nil, 0o600), l.Symlink("../dir", inDir+"/tree/link"))
	noError(t, f.Remove(inDir+"/link"), f.Remove(inDir+"/tree"))
	require.Equal(t, "text", read(t, f, inDir+"/dir/file"))
	names, err := f.List(inDir)
	noError(t, err)
	require.Equal(t, []string{"dir"}, names)
}
