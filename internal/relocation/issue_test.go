package relocation_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

func TestAResultStaysOnTheScreen(t *testing.T) {
	f := files.New(t.TempDir())
	require.NoError(t, relocation.KeepOnScreen(f, "DONE \\l\n"))
	text, err := f.Read(relocation.IssueFile)
	require.NoError(t, err)
	require.Equal(t, "DONE \\\\l\n", string(text), "getty replaces nothing in it")
	_, err = f.Stat(relocation.IssueChanged)
	require.NoError(t, err, "a login that waits is drawn again")
	for range 2 {
		require.NoError(t, relocation.KeepOnScreen(f, ""))
		_, err = f.Stat(relocation.IssueFile)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}
