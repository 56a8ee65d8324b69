package registry_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// tokens demands a bearer token that is worth so many requests, and counts those that it denies.
func tokens(worth int, denied *atomic.Int32) func(http.Handler) http.Handler {
	var mu sync.Mutex
	issued, left := 0, map[string]int{}
	return broken(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/token" {
			issued++
			name := fmt.Sprintf("token-%d", issued)
			left[name] = worth
			_ = json.NewEncoder(w).Encode(map[string]any{"token": name, "expires_in": 300})
			return true
		}
		have := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if left[have] > 0 {
			left[have]--
			return false
		}
		denied.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="https://%s/token",service="registry"`, r.Host))
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
}

// A token ends in the middle of an upload. The request that it ends with is sent again, with all of its content.
func TestATokenThatEndsDuringAnUploadIsRenewed(t *testing.T) {
	var denied, patches atomic.Int32
	expire := tokens(5, &denied)
	at := serve(t, func(next http.Handler) http.Handler {
		return expire(broken(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch {
				patches.Add(1)
			}
			return false
		})(next))
	})
	r, err := open(t, at)
	require.NoError(t, err)
	data := content(1 << 20)
	require.NoError(t, put(t, r, data))
	require.Greater(t, denied.Load(), int32(2), "tokens ended meanwhile")
	require.EqualValues(t, 16, patches.Load(), "each piece is sent once")
	_, err = r.PutManifest(t.Context(), "1", "application/vnd.oci.image.manifest.v1+json", []byte(`{"schemaVersion":2}`))
	require.NoError(t, err)
	back, err := get(t, r, data)
	require.NoError(t, err)
	require.Equal(t, digest(data), digest(back))
}
