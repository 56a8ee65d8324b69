package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/archive"
)

// plant makes a tree with everything that an archive has to keep.
func plant(t *testing.T) (root string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("reason: owners and attributes of other users need root")
	}
	root = t.TempDir()
	at := func(name string) string { return filepath.Join(root, "var", name) }
	write := func(name, text string, mode os.FileMode) {
		require.NoError(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
		require.NoError(t, os.WriteFile(at(name), []byte(text), mode))
		require.NoError(t, os.Chmod(at(name), mode))
	}
	write("lib/one", "one", 0o640)
	write("lib/setuid", "x", 0o755|os.ModeSetuid)
	write("lib/lca/secret", "seedsecret", 0o600)
	write("log/messages", "log", 0o600)
	write("log/owned/file", "kept", 0o600)
	write("root/.bash_history", "typed", 0o600)
	write("lib/"+strings.Repeat("n", 150)+"/"+strings.Repeat("m", 150), "long name", 0o600)
	require.NoError(t, os.Link(at("lib/one"), at("lib/two")))
	require.NoError(t, os.Symlink("../lib/one", at("lib/link")))
	require.NoError(t, os.Chown(at("lib/one"), 1234, 5678))
	require.NoError(t, unix.Mkfifo(at("lib/pipe"), 0o600))
	f, err := os.Create(at("lib/sparse"))
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("begin"), 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("middle"), 8<<20)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(32<<20))
	require.NoError(t, f.Close())
	setXattr(t, at("lib/one"), "user.note", []byte("a\x00b"))
	setXattr(t, at("lib/one"), "user.a=b%3Dc", []byte("a=b"))
	setXattr(t, at("lib/one"), "security.capability", []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	// user::rw-, user:1000:r--, group::r--, mask::rw-, other::---
	setXattr(t, at("lib/setuid"), "system.posix_acl_access", []byte{
		2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 4, 0, 232, 3, 0, 0, 4, 0, 5, 0, 255, 255, 255, 255,
		16, 0, 5, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255,
	})
	past := time.Unix(1_600_000_000, 123_456_789)
	require.NoError(t, os.Chtimes(at("lib/one"), past, past))
	require.NoError(t, os.Chtimes(at("lib/sparse"), past, past))
	return root
}

func setXattr(t *testing.T, file, name string, value []byte) {
	t.Helper()
	if err := unix.Lsetxattr(file, name, value, 0); err != nil {
		t.Logf("this file system has no %s: %v", name, err)
	}
}

func request() host.ArchiveRequest {
	return host.ArchiveRequest{
		Dir: "/var", Prefix: "var", Skip: []string{"lib/lca"}, Empty: []string{"log"}, Keep: []string{"log/owned/file"},
		SkipNames: []string{".bash_history"},
	}
}

func pack(t *testing.T, root string, r host.ArchiveRequest) []byte {
	t.Helper()
	var out bytes.Buffer
	_, err := archive.New(archive.Options{Root: root}).Pack(t.Context(), r, &out)
	require.NoError(t, err)
	return out.Bytes()
}

// describe lists a tree with everything that matters, but for the times of folders' parents.
func describe(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.Walk(root, func(p string, info os.FileInfo, err error) error {
		require.NoError(t, err)
		rel, _ := filepath.Rel(root, p)
		var st unix.Stat_t
		require.NoError(t, unix.Lstat(p, &st))
		d := fmt.Sprintf("%s %d:%d links=%d size=%d at=%d.%d", info.Mode(), st.Uid, st.Gid, min(st.Nlink, 2), st.Size, st.Mtim.Sec, st.Mtim.Nsec)
		if info.IsDir() {
			d = fmt.Sprintf("%s %d:%d at=%d.%d", info.Mode(), st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec)
		}
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(p)
			require.NoError(t, err)
			if len(data) < 100 {
				d += " " + string(data)
			}
		}
		for _, name := range []string{"user.note", "user.a=b%3Dc", "security.capability", "system.posix_acl_access", "security.selinux"} {
			buf := make([]byte, 100)
			if n, err := unix.Lgetxattr(p, name, buf); err == nil {
				d += fmt.Sprintf(" %s=%x", name, buf[:n])
			}
		}
		out[rel] = d
		return nil
	}))
	return out
}

func TestATreeComesBackAsItWas(t *testing.T) {
	root := plant(t)
	data := pack(t, root, request())
	to := t.TempDir()
	sums := map[string]bool{}
	require.NoError(t, archive.New(archive.Options{Root: to}).Unpack(t.Context(), "/", bytes.NewReader(data),
		host.ArchiveReading{Sum: func(name string, _ [32]byte) { sums[name] = true }}))
	want := describe(t, filepath.Join(root, "var"))
	for _, gone := range []string{"lib/lca", "lib/lca/secret", "log/messages", "root/.bash_history"} {
		delete(want, gone)
	}
	require.Equal(t, want, describe(t, filepath.Join(to, "var")))
	require.Contains(t, sums, "var/lib/one")
	var was, is unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(root, "var/lib/sparse"), &was))
	require.NoError(t, unix.Stat(filepath.Join(to, "var/lib/sparse"), &is))
	require.Less(t, is.Blocks*512, int64(1<<20), "holes stay holes")
	require.NotContains(t, string(data), "seedsecret")
}

func TestTheSameTreeGivesTheSameBytes(t *testing.T) {
	root := plant(t)
	first := pack(t, root, request())
	_, err := os.ReadFile(filepath.Join(root, "var/lib/one")) // another access time
	require.NoError(t, err)
	require.NoError(t, os.Chmod(filepath.Join(root, "var/lib/one"), 0o640)) // another change time
	require.True(t, bytes.Equal(first, pack(t, root, request())))
}

// GNU tar is what the consumers of the field unpack with.
func TestGNUTarUnpacksIt(t *testing.T) {
	root := plant(t)
	to := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "tar", "xzf", "-", "-C", to, "--xattrs", "--xattrs-include=*", "--acls", "--numeric-owner")
	cmd.Stdin = bytes.NewReader(pack(t, root, request()))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	want := describe(t, filepath.Join(root, "var"))
	for _, gone := range []string{"lib/lca", "lib/lca/secret", "log/messages", "root/.bash_history"} {
		delete(want, gone)
	}
	require.Equal(t, want, describe(t, filepath.Join(to, "var")), "%s", out)
	var is unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(to, "var/lib/sparse"), &is))
	require.Less(t, is.Blocks*512, int64(1<<20), "holes stay holes")
}

func TestOnlyWhatIsAskedForIsArchived(t *testing.T) {
	root := plant(t)
	r := request()
	r.Only = []string{"lib/one", "log/owned/file"}
	zip, err := gzip.NewReader(bytes.NewReader(pack(t, root, r)))
	require.NoError(t, err)
	var names []string
	for tr := tar.NewReader(zip); ; {
		h, err := tr.Next()
		if err != nil {
			break
		}
		names = append(names, h.Name)
	}
	require.Equal(t, []string{"var/", "var/lib/", "var/lib/one", "var/log/", "var/log/owned/", "var/log/owned/file"}, names)
}

// An archive from a registry is not trusted to stay in its folder.
func TestNoNameLeadsOutOfTheFolder(t *testing.T) {
	outside := t.TempDir()
	for name, entries := range map[string][]tar.Header{
		"parent":   {{Name: "../x", Typeflag: tar.TypeReg}},
		"absolute": {{Name: "/x", Typeflag: tar.TypeReg}},
		"link":     {{Name: "l", Linkname: outside, Typeflag: tar.TypeSymlink}, {Name: "l/x", Typeflag: tar.TypeReg}},
		"hardlink": {{Name: "x", Linkname: "../../etc/passwd", Typeflag: tar.TypeLink}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			zip := gzip.NewWriter(&out)
			tw := tar.NewWriter(zip)
			for _, h := range entries {
				require.NoError(t, tw.WriteHeader(&h))
			}
			require.NoError(t, tw.Close())
			require.NoError(t, zip.Close())
			require.Error(t, archive.New(archive.Options{Root: t.TempDir()}).Unpack(t.Context(), "/in", &out, host.ArchiveReading{}))
			left, err := os.ReadDir(outside)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

func TestAStoppedPackEnds(t *testing.T) {
	root := plant(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := archive.New(archive.Options{Root: root}).Pack(ctx, request(), &bytes.Buffer{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestATornArchiveIsAnError(t *testing.T) {
	root := plant(t)
	data := pack(t, root, request())
	for _, torn := range [][]byte{data[:len(data)/2], append(bytes.Clone(data[:len(data)-8]), make([]byte, 8)...)} {
		require.Error(t, archive.New(archive.Options{Root: t.TempDir()}).Unpack(t.Context(), "/", bytes.NewReader(torn), host.ArchiveReading{}))
	}
}
