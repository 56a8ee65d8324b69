package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/archive"
)

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, err := zip.Write(data)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	return out.Bytes()
}

// tarOf is an archive of these entries; each file holds its own name.
func tarOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range entries {
		h.Uid, h.Gid, h.ModTime = os.Getuid(), os.Getgid(), time.Unix(1_600_000_000, 0)
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(h.Name))
		}
		require.NoError(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := w.Write([]byte(h.Name))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// sparseOf is an archive of one file of this size that is one hole.
func sparseOf(size int64) []byte {
	block := func(name string, kind byte, size int) []byte {
		h := make([]byte, 512)
		copy(h, name)
		copy(h[100:], "0000644\x000000000\x000000000\x00")
		copy(h[124:], fmt.Sprintf("%011o\x0000000000000\x00", size))
		h[156] = kind
		copy(h[257:], "ustar\x0000")
		copy(h[148:], "        ")
		sum := 0
		for _, c := range h {
			sum += int(c)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		return h
	}
	padded := func(s string) []byte { return append([]byte(s), make([]byte, -len(s)&511)...) }
	var records string
	for _, r := range [][2]string{
		{"GNU.sparse.major", "1"}, {"GNU.sparse.minor", "0"}, {"GNU.sparse.name", "hole"},
		{"GNU.sparse.realsize", strconv.FormatInt(size, 10)}, {"size", "512"},
	} {
		n := len(r[0]) + len(r[1]) + 5 // all of these records have a length of two digits
		records += fmt.Sprintf("%d %s=%s\n", n, r[0], r[1])
	}
	return bytes.Join([][]byte{
		block("PaxHeaders/x", tar.TypeXHeader, len(records)), padded(records), block("GNUSparseFile.0/hole", tar.TypeReg, 512),
		padded(fmt.Sprintf("1\n%d\n0\n", size)), make([]byte, 1024),
	}, nil)
}

// outside is a file and a folder that no archive may reach, and says how they are.
type outside string

func newOutside(t testing.TB) outside {
	t.Helper()
	o := outside(filepath.Join(t.TempDir(), "outside"))
	require.NoError(t, os.Mkdir(string(o), 0o700))
	require.NoError(t, os.WriteFile(string(o)+"/file", []byte("secret"), 0o600))
	past := time.Unix(1_000_000_000, 0)
	require.NoError(t, os.Chtimes(string(o)+"/file", past, past))
	require.NoError(t, os.Chtimes(string(o), past, past))
	return o
}

func (o outside) state(t testing.TB) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(string(o))
	require.NoError(t, err)
	for _, name := range []string{".", "file"} {
		var st unix.Stat_t
		full := filepath.Join(string(o), name)
		require.NoError(t, unix.Lstat(full, &st))
		xattrs := make([]byte, 1024)
		n, _ := unix.Llistxattr(full, xattrs)
		out = append(out, fmt.Sprintf("%s mode=%o owner=%d:%d at=%d links=%d xattrs=%q of %d entries", name, st.Mode, st.Uid, st.Gid,
			st.Mtim.Sec, st.Nlink, xattrs[:max(n, 0)], len(entries)))
	}
	return out
}

// The attributes of a folder are set last. Whatever an archive puts in its place by then, they reach nothing outside.
func TestNothingOutsideOfTheFolderChanges(t *testing.T) {
	o := newOutside(t)
	before := o.state(t)
	folder := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o4777} }
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o4777} }
	also := func(name, to string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to} }
	for name, c := range map[string]struct {
		entries []tar.Header
		says    string
	}{
		"a folder becomes a link to a file":     {[]tar.Header{folder("a/"), link("a", string(o)+"/file")}, "comes twice"},
		"a folder becomes a link to a folder":   {[]tar.Header{folder("a/"), link("a", string(o))}, "comes twice"},
		"a folder above becomes a link":         {[]tar.Header{folder("a/"), folder("a/outside/"), link("a", string(o)+"/..")}, "comes twice"},
		"an unlisted folder becomes a link":     {[]tar.Header{folder("a/b/"), link("a", string(o))}, "comes twice"},
		"a link becomes a folder":               {[]tar.Header{link("a", string(o)), folder("a/")}, "comes twice"},
		"a link becomes a file":                 {[]tar.Header{link("a", string(o)+"/file"), file("a")}, "comes twice"},
		"a file below a link":                   {[]tar.Header{link("a", string(o)), file("a/file")}, "comes twice"},
		"another name below a link":             {[]tar.Header{link("a", string(o)), also("b", "a/file")}, "no file of that name"},
		"another name of a folder":              {[]tar.Header{folder("a/"), also("b", "a")}, "no file of that name"},
		"another name of a file outside":        {[]tar.Header{also("b", string(o)+"/file")}, "leads out"},
		"another name of what comes later":      {[]tar.Header{also("b", "c"), file("c")}, "no file of that name"},
		"the folder itself becomes a link":      {[]tar.Header{link(".", string(o))}, "comes twice"},
		"a name with a folder above the folder": {[]tar.Header{file("a/../../x")}, "leads out"},
	} {
		t.Run(name, func(t *testing.T) {
			data := zipped(t, tarOf(t, c.entries...))
			a := archive.New(archive.Options{Root: t.TempDir()})
			require.ErrorContains(t, a.Unpack(t.Context(), "/in", bytes.NewReader(data), host.ArchiveReading{}), c.says)
			require.ErrorContains(t, a.Verify(t.Context(), bytes.NewReader(data), host.ArchiveReading{}), c.says)
			require.Equal(t, before, o.state(t))
		})
	}
	// Another name of a link is one more link, and its attributes are those of the link.
	data := zipped(t, tarOf(t, link("a", string(o)+"/file"), also("b", "a")))
	require.NoError(t, archive.New(archive.Options{Root: t.TempDir()}).Unpack(t.Context(), "/in", bytes.NewReader(data), host.ArchiveReading{}))
	require.Equal(t, before, o.state(t))
}

// What is in the folder already may be a link, too.
func TestALinkInTheFolderIsReplacedAndNotFollowed(t *testing.T) {
	o := newOutside(t)
	before := o.state(t)
	for name, h := range map[string]tar.Header{
		"folder": {Name: "a/", Typeflag: tar.TypeDir, Mode: 0o755}, "file": {Name: "a", Typeflag: tar.TypeReg, Mode: 0o755},
		"link": {Name: "a", Typeflag: tar.TypeSymlink, Linkname: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.Mkdir(root+"/in", 0o755))
			require.NoError(t, os.Symlink(string(o), root+"/in/a"))
			data := zipped(t, tarOf(t, h))
			require.NoError(t, archive.New(archive.Options{Root: root}).Unpack(t.Context(), "/in", bytes.NewReader(data), host.ArchiveReading{}))
			to, err := os.Readlink(root + "/in/a")
			require.True(t, err != nil || to == "b")
			require.Equal(t, before, o.state(t))
		})
	}
	root := t.TempDir()
	require.NoError(t, os.Mkdir(root+"/in", 0o755))
	require.NoError(t, os.Symlink(string(o), root+"/in/a"))
	data := zipped(t, tarOf(t, tar.Header{Name: "a/new", Typeflag: tar.TypeReg}))
	require.Error(t, archive.New(archive.Options{Root: root}).Unpack(t.Context(), "/in", bytes.NewReader(data), host.ArchiveReading{}))
	require.Equal(t, before, o.state(t))
}

// A folder that is there and has a default ACL hands it to each new file, also to those that have none in the archive.
func TestNoFileInheritsTheACLOfAFolderThatWasThere(t *testing.T) {
	root := t.TempDir()
	dir := root + "/in/a"
	require.NoError(t, os.MkdirAll(dir, 0o755))
	// user::rwx, user:1000:rwx, group::r-x, mask::rwx, other::r-x
	acl := []byte{
		2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 232, 3, 0, 0, 4, 0, 5, 0, 255, 255, 255, 255,
		16, 0, 7, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255,
	}
	for _, name := range []string{"system.posix_acl_default", "system.posix_acl_access"} {
		if err := unix.Setxattr(dir, name, acl, 0); err != nil {
			t.Skipf("reason: the file system has no ACLs: %v", err)
		}
	}
	data := zipped(t, tarOf(t, tar.Header{Name: "a/", Typeflag: tar.TypeDir, Mode: 0o755}, tar.Header{Name: "a/f", Typeflag: tar.TypeReg, Mode: 0o600}))
	require.NoError(t, archive.New(archive.Options{Root: root}).Unpack(t.Context(), "/in", bytes.NewReader(data), host.ArchiveReading{}))
	for _, name := range []string{dir, dir + "/f"} {
		for _, xattr := range []string{"system.posix_acl_default", "system.posix_acl_access"} {
			_, err := unix.Getxattr(name, xattr, make([]byte, 100))
			require.Error(t, err, "%s of %s", xattr, name)
		}
	}
}

// A hole takes no byte of the archive, and its reader as long as it is.
func TestAnEndlessHoleIsRefused(t *testing.T) {
	a := archive.New(archive.Options{Root: t.TempDir()})
	for _, size := range []int64{1 << 50, 1 << 62} {
		data := zipped(t, sparseOf(size))
		for _, declared := range []int64{0, 1 << 20} {
			r := host.ArchiveReading{Size: host.ArchiveSize{Content: declared}}
			require.ErrorContains(t, a.Unpack(t.Context(), "/in", bytes.NewReader(data), r), "more than is declared")
			require.ErrorContains(t, a.Verify(t.Context(), bytes.NewReader(data), r), "more than is declared")
		}
	}
}

func TestALongHoleEndsWithItsContext(t *testing.T) {
	data := zipped(t, sparseOf(2<<40))
	ctx, cancel := context.WithCancel(t.Context())
	at := make(chan error, 1)
	go func() {
		at <- archive.New(archive.Options{}).Verify(ctx, bytes.NewReader(data), host.ArchiveReading{})
	}()
	cancel()
	require.ErrorIs(t, <-at, context.Canceled)
}

func TestAnArchiveOfAnotherSizeThanDeclaredIsRefused(t *testing.T) {
	raw := tarOf(t, tar.Header{Name: "a", Typeflag: tar.TypeReg}, tar.Header{Name: "bb", Typeflag: tar.TypeReg})
	long := zipped(t, append(bytes.Clone(raw), make([]byte, 64<<20)...)) // some 60 kB
	have := int64(len(raw))
	a := archive.New(archive.Options{Root: t.TempDir()})
	for _, c := range []struct {
		data []byte
		size host.ArchiveSize
		says string
	}{
		{zipped(t, raw), host.ArchiveSize{Bytes: have, Content: 3}, ""},
		{zipped(t, raw), host.ArchiveSize{}, ""},
		{zipped(t, raw), host.ArchiveSize{Bytes: have - 512}, "longer than the"},
		{long, host.ArchiveSize{Bytes: have}, "longer than the"},
		{zipped(t, raw), host.ArchiveSize{Bytes: have + 512}, "512 bytes shorter"},
		{zipped(t, raw), host.ArchiveSize{Content: 2}, "more than is declared"},
		{zipped(t, raw), host.ArchiveSize{Content: 4}, "1 bytes shorter"},
	} {
		for _, err := range []error{
			a.Unpack(t.Context(), "/in", bytes.NewReader(c.data), host.ArchiveReading{Size: c.size}),
			a.Verify(t.Context(), bytes.NewReader(c.data), host.ArchiveReading{Size: c.size}),
		} {
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.says)
			}
		}
	}
}

func TestWhatLinuxCannotHoldIsRefusedBeforeItIsTried(t *testing.T) {
	file := func(change func(h *tar.Header)) tar.Header {
		h := tar.Header{Name: "a", Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		change(&h)
		return h
	}
	a := archive.New(archive.Options{Root: t.TempDir()})
	for name, h := range map[string]tar.Header{
		"a long part": file(func(h *tar.Header) { h.Name = strings.Repeat("n", 256) }),
		"a long name": file(func(h *tar.Header) { h.Name = strings.Repeat("n/", 2048) + "n" }),
		"a long attribute": file(func(h *tar.Header) {
			h.PAXRecords = map[string]string{"SCHILY.xattr.user.a": strings.Repeat("x", 64<<10+1)}
		}),
		"no attribute": file(func(h *tar.Header) { h.PAXRecords = map[string]string{"SCHILY.xattr.other.a": "x"} }),
		"a link's attribute": file(func(h *tar.Header) {
			h.Typeflag, h.Linkname, h.PAXRecords = tar.TypeSymlink, "b", map[string]string{"SCHILY.xattr.user.a": "x"}
		}),
		"a contiguous file": file(func(h *tar.Header) { h.Typeflag, h.Size = tar.TypeCont, 0 }),
	} {
		data := zipped(t, tarOf(t, h))
		require.Error(t, a.Verify(t.Context(), bytes.NewReader(data), host.ArchiveReading{}), name)
		require.Error(t, a.Unpack(t.Context(), "/in", bytes.NewReader(data), host.ArchiveReading{}), name)
	}
}

// seedArchives are archives from which a fuzzer starts.
func seedArchives(t testing.TB) [][]byte {
	t.Helper()
	return [][]byte{
		tarOf(t, tar.Header{Name: "a/", Typeflag: tar.TypeDir, Mode: 0o755}, tar.Header{Name: "a/b", Typeflag: tar.TypeReg, Mode: 0o600},
			tar.Header{Name: "c", Typeflag: tar.TypeSymlink, Linkname: "a/b"}, tar.Header{Name: "d", Typeflag: tar.TypeLink, Linkname: "a/b"}),
		tarOf(t, tar.Header{Name: "a/", Typeflag: tar.TypeDir, Mode: 0o4777},
			tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "../outside/file"}),
		tarOf(t, tar.Header{Name: "a", Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{"SCHILY.xattr.user.a": "v"}}),
		sparseOf(1 << 20), sparseOf(1 << 50),
	}
}
