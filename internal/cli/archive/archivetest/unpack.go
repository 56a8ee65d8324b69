// Package archivetest reads archives for tests of what collects them. Tests alone import it.
package archivetest

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Unpack returns the texts of an archive by name, without the folder root that all are in.
func Unpack(t *testing.T, r io.Reader, root string) map[string]string {
	t.Helper()
	zip, err := gzip.NewReader(r)
	require.NoError(t, err)
	files := map[string]string{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		files[strings.TrimPrefix(h.Name, root+"/")] = string(data)
	}
}
