package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/archive"
)

// comesBack packs what is below root's var, verifies and unpacks it with the sizes that were declared, and compares.
func comesBack(t *testing.T, root string) {
	t.Helper()
	a, to := archive.New(archive.Options{Root: root}), t.TempDir()
	var out bytes.Buffer
	type sums map[string][32]byte
	packed, verified, unpacked := sums{}, sums{}, sums{}
	into := func(s sums) func(string, [32]byte) { return func(name string, sum [32]byte) { s[name] = sum } }
	stats, err := a.Pack(t.Context(), host.ArchiveRequest{Dir: "/var", Prefix: "var", Sum: into(packed)}, &out)
	require.NoError(t, err)
	r := host.ArchiveReading{Size: stats.ArchiveSize, Sum: into(verified)}
	require.NoError(t, a.Verify(t.Context(), bytes.NewReader(out.Bytes()), r))
	r.Sum = into(unpacked)
	require.NoError(t, archive.New(archive.Options{Root: to}).Unpack(t.Context(), "/", bytes.NewReader(out.Bytes()), r))
	require.Equal(t, packed, verified)
	require.Equal(t, packed, unpacked)
	require.Equal(t, describe(t, filepath.Join(root, "var")), describe(t, filepath.Join(to, "var")))
}

// makeHoled makes a file of data with holes between.
func makeHoled(file string, size int64, data ...int64) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, at := range data {
		if _, err := f.WriteAt([]byte("data"), at); err != nil {
			return err
		}
	}
	return f.Truncate(size)
}

func holed(t *testing.T, file string, size int64, data ...int64) {
	t.Helper()
	require.NoError(t, makeHoled(file, size, data...))
}

func TestWhatPacksUnpacks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("reason: owners and attributes of other users need root")
	}
	early := time.Date(1960, 1, 2, 3, 4, 5, 123456789, time.UTC)
	plain := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			full := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
			require.NoError(t, os.WriteFile(full, []byte("x"), 0o640))
			holed(t, full+".h", 10<<20, 5<<20)
		}
	}
	for name, c := range map[string]func(t *testing.T, dir string){
		"a name in Latin-1": plain("caf\xe9"), "a name that ends in CR": plain("Icon\r"), "a name of two lines": plain("a\nb"),
		"a name with a backslash": plain(`dev-disk-by\x2dlabel.device`), "a name of blanks": plain("  a  b "),
		"a long name":          plain(strings.Repeat("e", 200) + "/" + strings.Repeat("f", 250)),
		"a name like a parent": plain("..."), "a deep name": plain(strings.Repeat("d/", 500) + "f"),
		"a time before 1970": func(t *testing.T, dir string) {
			plain("f")(t, dir)
			for _, f := range []string{"f", "f.h"} {
				require.NoError(t, os.Chtimes(filepath.Join(dir, f), early, early))
			}
		},
		"owners of many digits": func(t *testing.T, dir string) {
			plain("f")(t, dir)
			for _, f := range []string{"f", "f.h"} {
				require.NoError(t, os.Chown(filepath.Join(dir, f), 3_000_000_000, 2_000_000_000))
			}
		},
		"more holes than a table holds": func(t *testing.T, dir string) {
			var data []int64
			for n := range int64(25_000) {
				data = append(data, n<<13)
			}
			holed(t, filepath.Join(dir, "f"), 40_000<<13, data...)
		},
		"what is no file": func(t *testing.T, dir string) {
			require.NoError(t, unix.Mknod(filepath.Join(dir, "whiteout"), unix.S_IFCHR, 0))
			require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o640))
			require.NoError(t, os.Symlink(strings.Repeat("../", 300)+"caf\xe9", filepath.Join(dir, "link")))
			setXattr(t, filepath.Join(dir, "link"), "trusted.note", []byte("of a link"))
			setXattr(t, filepath.Join(dir, "pipe"), "trusted.note", []byte("of a pipe"))
			require.NoError(t, os.Link(filepath.Join(dir, "pipe"), filepath.Join(dir, "pipe2")))
		},
		"attributes of any bytes": func(t *testing.T, dir string) {
			plain("f")(t, dir)
			for name, value := range map[string]string{"user.n": "a\x00b\nc", "user.e": "", "user.caf\xe9": strings.Repeat("v", 2000)} {
				setXattr(t, filepath.Join(dir, "f"), name, []byte(value))
				setXattr(t, filepath.Join(dir, "f.h"), name, []byte(value))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.Mkdir(root+"/var", 0o755))
			c(t, root+"/var")
			comesBack(t, root)
		})
	}
}

// growing makes a tree of any bytes: what is in it, how it is called, who owns it.
type growing struct {
	root string
	data []byte
	made []string
}

func (g *growing) byte() (b byte) {
	if len(g.data) > 0 {
		b, g.data = g.data[0], g.data[1:]
	}
	return b
}

func (g *growing) text(limit int) string {
	n := min(int(g.byte())%limit+1, len(g.data))
	out := string(g.data[:n])
	g.data = g.data[n:]
	return out
}

// entry makes one more; what Linux refuses is left out.
func (g *growing) entry() {
	above := g.root
	if n := len(g.made); n > 0 {
		if at := g.made[int(g.byte())%n]; g.byte()%2 == 0 {
			above = at
		}
	}
	name := filepath.Join(above, strings.ReplaceAll(g.text(40), "/", "_"))
	if !strings.HasPrefix(name, g.root+"/") {
		return
	}
	if err := g.create(name); err != nil {
		return
	}
	g.made = append(g.made, name)
	owner := [3]int{0, 1000, 1<<32 - 2}[g.byte()%3]
	_ = os.Lchown(name, owner, owner)
	if info, err := os.Lstat(name); err == nil && info.Mode()&os.ModeSymlink == 0 {
		_ = unix.Chmod(name, uint32(g.byte())<<4|0o400)
	}
	_ = unix.Lsetxattr(name, [4]string{"user.note", "trusted.caf\xe9", "security.x", "user.a=%3D%"}[g.byte()%4], []byte(g.text(20)), 0)
	seconds := []int64{0, 1_600_000_000, -300_000_000, 9_000_000_000}[g.byte()%4]
	when := unix.Timespec{Sec: seconds, Nsec: int64(g.byte()) * 1_000_001}
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{when, when}, unix.AT_SYMLINK_NOFOLLOW)
}

func (g *growing) create(name string) error {
	switch g.byte() % 7 {
	case 0:
		return os.Mkdir(name, 0o755)
	case 1:
		return os.Symlink(g.text(60), name)
	case 2:
		return unix.Mkfifo(name, 0o600)
	case 3:
		return unix.Mknod(name, unix.S_IFCHR|0o600, 0)
	case 4:
		if len(g.made) > 0 {
			return os.Link(g.made[int(g.byte())%len(g.made)], name)
		}
	case 5:
		return makeHoled(name, int64(g.byte())<<16, int64(g.byte())<<14, int64(g.byte())<<15)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(g.text(200))
	return err
}

// Whatever a tree holds, what is unpacked is what was packed.
func FuzzWhatPacksUnpacks(f *testing.F) {
	if os.Geteuid() != 0 {
		f.Skip("reason: owners and attributes of other users need root")
	}
	f.Add([]byte("\x00\x05folder\x00\x00\x00\x07\x00\x00\x01\x01\x05caf\xe9\r\x06\x20content"))
	f.Add([]byte("\x00\x01s\x05\x80\x10\x20\x02\xff\x01\x04v\x00\x00\x02\x07\x00\x01\x03hrd\x04\x00"))
	f.Add(bytes.Repeat([]byte("\x00\x03a\x00\x01\x02"), 20))
	f.Fuzz(func(t *testing.T, data []byte) {
		root := t.TempDir()
		require.NoError(t, os.Mkdir(root+"/var", 0o755))
		g := &growing{root: root + "/var", data: data}
		for n := 0; len(g.data) > 0 && n < 40; n++ {
			g.entry()
		}
		comesBack(t, root)
	})
}

// Whatever an archive holds, nothing outside of the folder changes, it ends, and verifying says the same as unpacking.
func FuzzUnpack(f *testing.F) {
	for _, seed := range seedArchives(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		o := newOutside(t)
		before := o.state(t)
		root := filepath.Dir(string(o))
		data := zipped(t, raw)
		type result struct {
			err  error
			sums []string
		}
		run := func(do func(context.Context, host.ArchiveReading) error) (r result) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			reading := host.ArchiveReading{Sum: func(name string, sum [32]byte) {
				r.sums = append(r.sums, fmt.Sprintf("%q %x", name, sum))
			}}
			r.err = do(ctx, reading)
			require.NoError(t, ctx.Err(), "it takes too long")
			return r
		}
		a := archive.New(archive.Options{Root: root, MaxContent: 16 << 20})
		verified := run(func(ctx context.Context, r host.ArchiveReading) error { return a.Verify(ctx, bytes.NewReader(data), r) })
		unpacked := run(func(ctx context.Context, r host.ArchiveReading) error {
			return a.Unpack(ctx, "/in", bytes.NewReader(data), r)
		})
		require.Equal(t, before, o.state(t))
		if unpacked.err == nil {
			require.NoError(t, verified.err)
			require.Equal(t, unpacked.sums, verified.sums)
		}
	})
}
