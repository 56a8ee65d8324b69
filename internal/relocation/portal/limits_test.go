package portal_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
)

func TestHeadersAndLimits(t *testing.T) {
	b := newBench(t)
	c := b.admitted(t)
	r, err := c.Get(c.base + "/form")
	require.NoError(t, err)
	r.Body.Close()
	require.Contains(t, r.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
	require.Equal(t, "no-store", r.Header.Get("Cache-Control"))
	status, _ := c.upload("large.yaml", make([]byte, 7<<20))
	require.Equal(t, http.StatusForbidden, status)
	limited := false
	for range 200 {
		status, _ := c.get("/style.css")
		limited = limited || status == http.StatusTooManyRequests
	}
	require.True(t, limited)
}

// One laptop that holds every connection it gets, and sends requests without a pause, does not keep another from the page.
func TestOneClientDoesNotKeepAnotherOut(t *testing.T) {
	p := portal.New(portal.Options{Site: &site{}, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	certificate, _, err := portal.Certificate(time.Now(), netip.MustParseAddr("127.0.0.1"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l, certificate) }()
	t.Cleanup(func() { cancel(); <-ended })
	from := func(address string) *http.Client {
		d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		return &http.Client{Transport: &http.Transport{DialContext: d.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	}
	get := func(c *http.Client) (int, error) {
		r, err := c.Get("https://" + l.Addr().String() + "/style.css")
		if err != nil {
			return 0, err
		}
		return r.StatusCode, r.Body.Close()
	}
	request := func(from string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/style.css", nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		return w.Code
	}
	require.Eventually(t, func() bool { return request("127.0.0.66:1") == http.StatusTooManyRequests }, wait, time.Microsecond)
	require.Equal(t, http.StatusOK, request("127.0.0.10:1"))
	for range 80 {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.66")}}).DialContext(ctx, "tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
	}
	status, err := get(from("127.0.0.10"))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
}
