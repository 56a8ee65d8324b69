package machine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const entryText = `title Debian GNU/Linux 13 (trixie) 1.0 (ostree:0)
version 2
options root=LABEL=root rw panic=5 ostree=/ostree/boot.1/rhcos_op-1/e12781/0
linux /ostree/rhcos_op-1-e12781/vmlinuz-6.12
initrd /ostree/rhcos_op-1-e12781/initramfs-6.12.img
aboot /ostree/deploy/rhcos/deploy/5aa94f.0/usr/lib/ostree-boot/aboot.img
`

func TestParseEntry(t *testing.T) {
	entry, err := ParseEntry("ostree-2.conf", entryText)
	require.NoError(t, err)
	require.Equal(t, Entry{
		File: "ostree-2.conf", Title: "Debian GNU/Linux 13 (trixie) 1.0 (ostree:0)", Version: 2,
		Linux:   "/ostree/rhcos_op-1-e12781/vmlinuz-6.12",
		Options: "root=LABEL=root rw panic=5 ostree=/ostree/boot.1/rhcos_op-1/e12781/0",
	}, entry)
	require.Equal(t, "rhcos_op-1", Stateroot(entry.Options))
}

func TestParseEntryVariants(t *testing.T) {
	entry, err := ParseEntry("a.conf", "# a comment\n\nlinux\t/v\noptions one\noptions  two\n")
	require.NoError(t, err)
	require.Equal(t, "one two", entry.Options)
	require.Equal(t, "/v", entry.Linux)

	_, err = ParseEntry("a.conf", "linux /v\nversion new\n")
	require.ErrorContains(t, err, `version "new" is not a number`)
	_, err = ParseEntry("a.conf", "title x\n")
	require.ErrorContains(t, err, "names no kernel")
}

func TestDefault(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []Entry
		want    string
	}{
		{"only one", []Entry{{File: "ostree-1.conf", Version: 1}}, "ostree-1.conf"},
		{"highest version, not file order", []Entry{{File: "a", Version: 2}, {File: "b", Version: 3}, {File: "c", Version: 1}}, "b"},
		{"as numbers, not as text", []Entry{{File: "a", Version: 9}, {File: "b", Version: 10}}, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Default(c.entries)
			require.NoError(t, err)
			require.Equal(t, c.want, got.File)
		})
	}
	_, err := Default(nil)
	require.Error(t, err)
}

func TestReadEntries(t *testing.T) {
	boot := t.TempDir()
	_, err := ReadEntries(boot)
	require.ErrorContains(t, err, "no boot entry")

	// ostree switches by making "loader" a link to the other of loader.0 and loader.1.
	dir := filepath.Join(boot, "loader.1", "entries")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.Symlink("loader.1", filepath.Join(boot, "loader")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ostree-2.conf"), []byte(entryText), 0o644))
	entries, err := ReadEntries(boot)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestStateroot(t *testing.T) {
	for cmdline, want := range map[string]string{
		"":                                  "",
		"root=LABEL=root ostree=":           "",
		"ostree=/ostree/boot.0/rhcos/abc/0": "rhcos",
		"quiet ostree=/ostree/boot.1/other/abc/1 ": "other",
		"ostree=/ostree/boot.0/rhcos":              "",
	} {
		require.Equal(t, want, Stateroot(cmdline), cmdline)
	}
}
