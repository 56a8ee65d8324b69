package archive_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/archive"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/archive/archivetest"
)

func TestAnArchiveIsNotedCutAndPrivate(t *testing.T) {
	var out bytes.Buffer
	a := archive.New(&out, "root", time.Unix(1, 0), bytes.ToUpper)
	require.NoError(t, a.Add("gone", nil, os.ErrNotExist))
	require.NoError(t, a.Add("broken", nil, errors.New("no bus")))
	require.NoError(t, a.Add("long", append(bytes.Repeat([]byte("x"), 5<<20), "end"...), nil))
	require.NoError(t, a.Close())
	files := archivetest.Unpack(t, &out, "root")
	require.Len(t, files, 2)
	require.Len(t, files["long"], 4<<20)
	require.True(t, strings.HasSuffix(files["long"], "END"))
	require.Contains(t, files[archive.Index], "missing  broken: NO BUS")
	require.Contains(t, files[archive.Index], "cut      long")

	file := filepath.Join(t.TempDir(), "a")
	require.EqualError(t, archive.Save(file, func(io.Writer) error { return errors.New("full") }), "full")
	require.NoFileExists(t, file)
	require.NoError(t, archive.Save(file, func(w io.Writer) error { _, err := w.Write([]byte("x")); return err }))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
}
