package podman

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Media types of the OCI image specification.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

// registry serves images by the OCI distribution API, as far as a pull needs it.
type registry struct {
	*httptest.Server
	blobs     map[string][]byte // by digest
	manifests map[string]string // digest, by "name:tag"
	pulls     atomic.Int32      // of manifests by tag
}

func newRegistry(t *testing.T) *registry {
	r := &registry{blobs: map[string][]byte{}, manifests: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

// serve answers /v2/, /v2/NAME/manifests/TAG-OR-DIGEST and /v2/NAME/blobs/DIGEST.
func (r *registry) serve(w http.ResponseWriter, q *http.Request) {
	rest := strings.TrimPrefix(q.URL.Path, "/v2/")
	if rest == "" {
		return
	}
	name, reference, isManifest := strings.Cut(rest, "/manifests/")
	if !isManifest {
		_, reference, _ = strings.Cut(rest, "/blobs/")
	} else if digest, tagged := r.manifests[name+":"+reference]; tagged {
		reference = digest
		if q.Method == http.MethodGet {
			r.pulls.Add(1)
		}
	}
	blob, ok := r.blobs[reference]
	if !ok {
		http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`, http.StatusNotFound)
		return
	}
	if isManifest {
		w.Header().Set("Content-Type", manifestType)
		w.Header().Set("Docker-Content-Digest", reference)
	}
	_, _ = w.Write(blob)
}

// descriptor refers to a blob.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

func (r *registry) put(mediaType string, blob []byte) descriptor {
	d := descriptor{mediaType, fmt.Sprintf("sha256:%x", sha256.Sum256(blob)), len(blob)}
	r.blobs[d.Digest] = blob
	return d
}

// push makes an image of programs in /bin (host paths by name), of which the first runs, and returns its digest.
func (r *registry) push(t *testing.T, name, tag string, programs [][2]string) string {
	t.Helper()
	layer := r.put(layerType, layerOf(t, programs))
	config := r.put(configType, encode(t, map[string]any{
		"architecture": "amd64", "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/bin/" + programs[0][0]}, "Env": []string{"PATH=/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layer.Digest}},
	}))
	manifest := r.put(manifestType, encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []descriptor{layer},
	}))
	r.manifests[name+":"+tag] = manifest.Digest
	return manifest.Digest
}

func layerOf(t *testing.T, programs [][2]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, dir := range []string{"bin/", "tmp/"} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}))
	}
	for _, p := range programs {
		data, err := os.ReadFile(p[1])
		require.NoError(t, err)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "bin/" + p[0], Mode: 0o755, Size: int64(len(data))}))
		_, err = w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}
