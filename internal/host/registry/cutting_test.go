package registry_test

import (
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// cutter is a proxy before a registry that cuts one upload off.
type cutter struct {
	name  string
	begun atomic.Int32
	cut   atomic.Bool
}

// cutting cuts the connection in the middle of the n-th piece.
func cutting(t *testing.T, registry string, n int32) *cutter {
	t.Helper()
	target, err := url.Parse("https://" + registry)
	require.NoError(t, err)
	c := &cutter{}
	var patches atomic.Int32
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		host := r.In.Host
		r.SetURL(target)
		r.Out.Host = host // the registry names itself in locations
	}}
	client := trusting(t)
	forward.Transport = client.Transport
	c.name = secured(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			c.begun.Add(1)
		}
		if r.Method == http.MethodPatch && patches.Add(1) == n {
			c.cut.Store(true)
			half, _ := io.ReadAll(io.LimitReader(r.Body, r.ContentLength/2))
			req := r.Clone(r.Context())
			req.RequestURI, req.URL.Scheme, req.URL.Host = "", "https", registry
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader(string(half))), int64(len(half))
			req.Header.Del("Content-Range")
			if resp, err := client.Do(req); err == nil {
				resp.Body.Close()
			}
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}))
	return c
}
