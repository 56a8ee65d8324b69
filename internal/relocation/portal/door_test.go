package portal_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
)

func TestTheDoor(t *testing.T) {
	b := newBench(t)
	first := b.code
	require.Regexp(t, `^\d{4} \d{4}$`, first)
	c := b.browser(t)
	for _, path := range []string{"/form", "/check", "/upload", "/start", "/handover"} {
		status, _ := c.post(path)
		require.Equal(t, http.StatusUnauthorized, status, path)
	}
	status, _ := c.get("/progress.json")
	require.Equal(t, http.StatusUnauthorized, status)

	for range 4 {
		status, _ = c.post("/login", "code", "00000000")
		require.Equal(t, http.StatusForbidden, status)
	}
	status, text := c.post("/login", "code", "00000000")
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, text, "Too many wrong codes")
	status, _ = c.post("/login", "code", b.code)
	require.Equal(t, http.StatusTooManyRequests, status, "the right code has to wait, too")
	b.now = b.now.Add(31 * time.Second)
	status, _ = c.post("/login", "code", strings.ReplaceAll(b.code, " ", "-"))
	require.Equal(t, http.StatusOK, status)
	require.NotEqual(t, first, b.code)
	other := b.browser(t)
	status, _ = other.post("/login", "code", first)
	require.Equal(t, http.StatusForbidden, status, "a code works once")

	status, _ = b.admitted(t).get("/form")
	require.Equal(t, http.StatusOK, status)
	_, text = c.get("/form")
	require.Contains(t, text, "Type the code", "one browser at a time")
}

// One laptop that guesses does not lock out the technician at another, and no laptop gets more attempts by more IPv6 addresses.
func TestAClientThatGuessesWaitsAlone(t *testing.T) {
	b := newBench(t)
	p := portal.New(portal.Options{Site: b.site, Log: slog.New(slog.DiscardHandler), ShowCode: func(code string) { b.code = code },
		Now: func() time.Time { return b.now }})
	login := func(from, code string) (status, wait int) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/login", strings.NewReader(url.Values{"code": {code}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Forwarded-For", "192.0.2.99")
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		wait, _ = strconv.Atoi(w.Header().Get("Retry-After"))
		return w.Code, wait
	}
	for name, from := range map[string]func(n int) string{
		"IPv4": func(int) string { return "192.0.2.66:4711" },
		"IPv6": func(n int) string { return fmt.Sprintf("[2001:db8::%x]:4711", n+1) },
	} {
		t.Run(name, func(t *testing.T) {
			longest := 0
			for n := range 7 {
				status, wait := login(from(n), "00000000")
				if n >= 4 {
					require.Equal(t, http.StatusTooManyRequests, status)
					require.Greater(t, wait, longest, "each wrong code makes it wait longer")
					longest = wait
				}
				if n < 6 {
					b.now = b.now.Add(time.Duration(wait) * time.Second)
				}
			}
			status, _ := login(from(0), b.code)
			require.Equal(t, http.StatusTooManyRequests, status)
		})
	}
	status, _ := login("192.0.2.10:4711", b.code)
	require.Equal(t, http.StatusSeeOther, status, "the technician does not wait")
}

// Many addresses do not fill the memory, nor make the node forget the one that guessed most.
func TestManyClientsAreBounded(t *testing.T) {
	b := newBench(t)
	p := portal.New(portal.Options{Site: b.site, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return b.now }})
	for range 6 {
		p.Fail(netip.MustParseAddr("192.0.2.66"))
	}
	at := netip.MustParseAddr("198.18.0.0")
	for range 5000 {
		p.Fail(at)
		at = at.Next()
	}
	require.LessOrEqual(t, p.Clients(), 1024)
	require.Positive(t, p.Wait(netip.MustParseAddr("192.0.2.66")))
}

func TestForgeriesAreRefused(t *testing.T) {
	b := newBench(t)
	c := b.admitted(t)
	c.token = "forged"
	status, _ := c.post("/form", right()...)
	require.Equal(t, http.StatusForbidden, status)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+"/login", strings.NewReader("code="+b.code))
	require.NoError(t, err)
	request.Header.Set("Origin", "https://evil.example.org")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, _ = c.answer(c.Do(request))
	require.Equal(t, http.StatusForbidden, status)
}
