package containerimage

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestControlPlaneImageIsAWholeOCILayout follows the image from its names to the programs, checking every digest on the way.
func TestControlPlaneImageIsAWholeOCILayout(t *testing.T) {
	bin, file := t.TempDir(), filepath.Join(t.TempDir(), "images", "image.tar")
	for _, name := range []string{"etcd", "kube-apiserver", "apiserver-entrypoint", "pause"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("program "+name), 0o755))
	}
	require.NoError(t, ControlPlane(bin).Write(file))
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, entries, 1, "scratch files are left behind")

	archive, err := os.Open(file)
	require.NoError(t, err)
	defer archive.Close()
	files := untar(t, archive)
	require.JSONEq(t, `{"imageLayoutVersion":"1.0.0"}`, files["oci-layout"])
	var index struct{ Manifests []descriptor }
	require.NoError(t, json.Unmarshal([]byte(files["index.json"]), &index))
	var names []string
	for _, m := range index.Manifests {
		names = append(names, m.Annotations["io.containerd.image.name"])
	}
	require.Equal(t, []string{Etcd, APIServer, Pause}, names)

	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	require.NoError(t, json.Unmarshal([]byte(blob(t, files, index.Manifests[0])), &manifest))
	var config struct {
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(blob(t, files, manifest.Config)), &config))
	require.Len(t, manifest.Layers, 1)
	require.Equal(t, []string{manifest.Layers[0].Digest}, config.Rootfs.DiffIDs, "an uncompressed layer is its own content")
	layer := untar(t, strings.NewReader(blob(t, files, manifest.Layers[0])))
	require.Equal(t, "program apiserver-entrypoint", layer["usr/bin/kube-apiserver"])
	require.Equal(t, "program kube-apiserver", layer["usr/libexec/kube-apiserver"])
	require.Equal(t, "program etcd", layer["usr/bin/etcd"])
	require.Equal(t, "program pause", layer["usr/bin/pause"])
}

func blob(t *testing.T, files map[string]string, d descriptor) string {
	t.Helper()
	text, ok := files[blobPath(d)]
	require.True(t, ok, "no blob for %s", d.Digest)
	require.Len(t, text, int(d.Size))
	require.Equal(t, d.Digest, fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))))
	return text
}

func untar(t *testing.T, from io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	for reader := tar.NewReader(from); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		text, err := io.ReadAll(reader)
		require.NoError(t, err)
		files[header.Name] = string(text)
	}
}
