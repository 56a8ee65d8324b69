package registry_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/registry"
)

// sending answers requests for blobs itself.
func sending(answer http.HandlerFunc) func(http.Handler) http.Handler {
	return broken(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/sha256:") {
			return false
		}
		answer(w, r)
		return true
	})
}

// A descriptor says how long a blob is. What a registry sends beyond it is neither read nor stored.
func TestABlobIsAsLongAsItsDescriptorSays(t *testing.T) {
	data := content(100 << 10)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(data)
			for r.Context().Err() == nil {
				if _, err := w.Write(data); err != nil {
					return
				}
			}
		}, "arrived as more than 102400 bytes"},
		"longer, and says so": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1125899906842624")
			_, _ = w.Write(data)
		}, "1125899906842624 bytes instead of 102400"},
		"shorter, and says so": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(data[:1000])
		}, "1000 bytes instead of 102400"},
		"shorter": {func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") == "" {
				_, _ = w.Write(data[:1000])
				w.(http.Flusher).Flush()
			}
		}, "arrived as 0 bytes instead of 102400"},
		"another part than asked for": {func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				w.Header().Set("Content-Range", "bytes 0-101399/102400")
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(data[:101400])
				return
			}
			_, _ = w.Write(data[:1000])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "instead of what begins at byte 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := open(t, serve(t, sending(c.answer)))
			require.NoError(t, err)
			back, err := get(t, r, data)
			require.ErrorContains(t, err, c.want)
			require.LessOrEqual(t, len(back), len(data))
		})
	}
	r, err := open(t, serve(t, nil))
	require.NoError(t, err)
	_, err = r.Get(t.Context(), digest(data), -1)
	require.ErrorContains(t, err, "no size")
}

// A registry that sends a byte and breaks off makes no progress, however often it is asked.
func TestAByteForEachConnectionIsNoProgress(t *testing.T) {
	data := content(1 << 20)
	var asked atomic.Int32
	at := serve(t, sending(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1) - 1
		if r.Header.Get("Range") != "" {
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(data[n : n+1])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	r, err := open(t, at)
	require.NoError(t, err)
	_, err = get(t, r, data)
	require.ErrorIs(t, err, host.ErrRegistryAway)
	require.LessOrEqual(t, asked.Load(), int32(options(t).Tries)+1)
}

// A line that breaks off after each part gets there: each part is progress.
func TestADownloadOfManyPartsArrives(t *testing.T) {
	data := content(1 << 20)
	const part = 100 << 10
	at := serve(t, sending(func(w http.ResponseWriter, r *http.Request) {
		var from int
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(data[from:min(from+part, len(data))])
		w.(http.Flusher).Flush()
		if from+part < len(data) {
			panic(http.ErrAbortHandler)
		}
	}))
	r, err := open(t, at)
	require.NoError(t, err)
	back, err := get(t, r, data)
	require.NoError(t, err)
	require.Equal(t, digest(data), digest(back))
}

// Every answer but a blob is held in memory.
func TestAnEndlessAnswerIsNotHeld(t *testing.T) {
	endless := func(code int) func(http.Handler) http.Handler {
		return broken(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") && !strings.Contains(r.URL.Path, "/blobs/sha256:") {
				return false
			}
			w.WriteHeader(code)
			for junk := make([]byte, 1<<20); r.Context().Err() == nil; {
				if _, err := w.Write(junk); err != nil {
					break
				}
			}
			return true
		})
	}
	for _, code := range []int{http.StatusOK, http.StatusBadRequest} {
		r, err := open(t, serve(t, endless(code)))
		require.NoError(t, err)
		_, err = r.Manifest(t.Context(), "1")
		require.Error(t, err)
		_, err = get(t, r, content(1000))
		require.Error(t, err)
	}
}

// What an image is, its digest says: a registry cannot answer with another one.
func TestAManifestOfAnotherDigestIsRefused(t *testing.T) {
	asked := []byte(`{"schemaVersion":2}`)
	at := serve(t, broken(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/manifests/") {
			return false
		}
		w.Header().Set("Docker-Content-Digest", digest(asked)) // as if it were that one
		_, _ = w.Write([]byte(`{"schemaVersion":2,"forged":true}`))
		return true
	}))
	r, err := registry.New(options(t)).Open(t.Context(), host.RegistryAccess{Image: at + "/seed:1", CABundle: authority(t)})
	require.NoError(t, err)
	_, err = r.Manifest(t.Context(), digest(asked))
	require.ErrorContains(t, err, "the registry sent another one")
}
