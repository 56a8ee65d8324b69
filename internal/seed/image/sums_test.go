package image_test

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

func awkwardNames() []string {
	return []string{"plain", "caf\xe9", "Icon\r", "two\nlines", `dev-disk-by\x2dlabel.device`, "  blanks  ", `\n`, `\r`, `\`, `\\`}
}

// sha256sum itself reads the list, and we read its.
func TestTheListOfChecksumsIsThatOfSha256sum(t *testing.T) {
	dir := t.TempDir()
	var sums image.SumList
	for _, name := range awkwardNames() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
		sums.Add(name, sha256.Sum256([]byte(name)))
	}
	list := filepath.Join(t.TempDir(), "sums")
	require.NoError(t, os.WriteFile(list, sums.Text(), 0o600))
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", list)
	check.Dir = dir
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)

	write := exec.CommandContext(t.Context(), "sha256sum", append([]string{"--"}, awkwardNames()...)...)
	write.Dir = dir
	theirs, err := write.Output()
	require.NoError(t, err)
	want, err := image.ParseSums(sums.Text())
	require.NoError(t, err)
	require.Len(t, want, len(awkwardNames()))
	got, err := image.ParseSums(theirs)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// The first seed images escape names without marking the line.
func TestListsWithoutMarksAreRead(t *testing.T) {
	const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	got, err := image.ParseSums([]byte(sum + `  etc/dev-disk-by\\x2dlabel` + "\n" + sum + `  var/two\nlines` + "\n"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{`etc/dev-disk-by\x2dlabel`: sum, "var/two\nlines": sum}, got)
}
