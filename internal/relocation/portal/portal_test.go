package portal_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// wait is generous: the machine may be busy.
const wait = 2 * time.Minute

// site is a node in memory.
type site struct {
	mu       sync.Mutex
	got      siteconfig.SiteConfig
	refuse   []siteconfig.Problem
	progress portal.Progress
	wiped    bool
	started  string
	// fault has the node not know how far it is.
	fault error
}

func (s *site) Submit(_ context.Context, c siteconfig.SiteConfig) (portal.Plan, []siteconfig.Problem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = c
	return portal.Plan{ID: "plan-1", Expected: 4 * time.Minute, Sentences: []string{
		"Give network port eno1 the address 192.0.2.10 and check that the router 192.0.2.1 answers.",
		"Rename the node from factory-7 to " + c.Hostname + ".",
		"Make new certificates for site-1.edge.example.org.",
		"Start the cluster and wait until it is healthy.",
	}, Warnings: []string{"No time server is given. The node keeps its own time."}}, s.refuse, nil
}

func (s *site) Start(_ context.Context, id string) error {
	s.set(portal.Progress{State: portal.Running, Step: 3, Steps: 14, Title: "Making new certificates"})
	s.started = id
	return nil
}

func (s *site) set(p portal.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = p
}

func (s *site) Progress(context.Context) (portal.Progress, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress, s.fault
}

// confuse has the node not know how far it is until it is nil again.
func (s *site) confuse(fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *site) Handover(context.Context) (portal.Handover, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wiped {
		return portal.Handover{}, portal.ErrHandedOver
	}
	s.wiped = true
	return portal.Handover{Name: "site-1.yaml", Data: []byte("password: hunter2\n")}, nil
}

func failed() portal.Progress {
	return portal.Progress{State: portal.Failed, Code: sitecode.GatewaySilent, Message: "probe gateway 192.0.2.1 on eno1: no answer within 30 s"}
}

func succeeded() portal.Progress {
	return portal.Progress{State: portal.Succeeded, Facts: []portal.Fact{
		{"Console", "https://console-openshift-console.apps.site-1.edge.example.org"}, {"API", "https://api.site-1.edge.example.org:6443"},
		{"Address", "192.0.2.10/24"}}}
}

// bench is a page with its node, its clock and the code on the console.
type bench struct {
	*site
	server *httptest.Server
	code   string
	now    time.Time
	// away has the node not answer; leaves has it go away as soon as it has answered to a start.
	away, leaves atomic.Bool
}

func newBench(t *testing.T) *bench {
	b := &bench{site: &site{progress: portal.Progress{State: portal.Waiting}}, now: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
	p := portal.New(portal.Options{
		Site: b.site, Node: "R740-0042", Log: slog.New(slog.DiscardHandler),
		ShowCode: func(code string) { b.code = code }, Now: func() time.Time { return b.now },
		Ports: func(context.Context) []portal.Port { return []portal.Port{{Name: "eno1", Cable: true}, {Name: "eno2"}} },
	})
	b.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.away.Load() {
			panic(http.ErrAbortHandler)
		}
		p.ServeHTTP(w, r)
		if b.leaves.Load() && r.URL.Path == "/start" {
			b.away.Store(true)
		}
	}))
	t.Cleanup(b.server.Close)
	return b
}

// browser is a client with cookies.
type client struct {
	*http.Client
	t     *testing.T
	base  string
	token string
}

func (b *bench) browser(t *testing.T) *client {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &client{&http.Client{Transport: b.server.Client().Transport, Jar: jar}, t, b.server.URL, ""}
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]+)"`)

func (b *client) answer(r *http.Response, err error) (int, string) {
	require.NoError(b.t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(b.t, err)
	if m := tokenField.FindSubmatch(text); m != nil {
		b.token = string(m[1])
	}
	return r.StatusCode, html.UnescapeString(string(text))
}

func (b *client) get(path string) (int, string) { return b.answer(b.Get(b.base + path)) }

func (b *client) post(path string, pairs ...string) (int, string) {
	form := url.Values{"token": {b.token}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return b.answer(b.PostForm(b.base+path, form))
}

func (b *client) upload(name string, data []byte) (int, string) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	require.NoError(b.t, w.WriteField("token", b.token))
	part, err := w.CreateFormFile("file", name)
	require.NoError(b.t, err)
	_, err = part.Write(data)
	require.NoError(b.t, err)
	require.NoError(b.t, w.Close())
	return b.answer(b.Post(b.base+"/upload", w.FormDataContentType(), &body))
}

func (b *bench) admitted(t *testing.T) *client {
	c := b.browser(t)
	status, _ := c.post("/login", "code", b.code)
	require.Equal(t, http.StatusOK, status)
	return c
}

func right() []string {
	return []string{"hostname", "site-1", "cluster", "site-1", "domain", "edge.example.org", "port", "eno1", "address", "192.0.2.10/24",
		"gateway", "192.0.2.1", "dns", "192.0.2.53, 192.0.2.54"}
}

func TestFromCodeToHandover(t *testing.T) {
	b := newBench(t)
	c := b.browser(t)
	_, text := c.get("/")
	require.Contains(t, text, "Type the code")
	status, text := c.post("/login", "code", b.code)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "eno2 (no cable)")

	status, text = c.post("/form", append(right(), "vlan", "12", "pullsecret", `{"auths":{"r.example.org":{"auth":"dTpodW50ZXIy"}}}`)...)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "Rename the node from factory-7 to site-1.")
	require.Contains(t, text, "4 minutes")
	require.Empty(t, siteconfig.Validate(b.got))
	require.Equal(t, "eno1.12", b.got.Network.Routes.Config[0].NextHopInterface)
	require.Equal(t, []string{"192.0.2.0/24"}, b.got.MachineNetworks)
	require.Equal(t, []string{"192.0.2.53", "192.0.2.54"}, b.got.DNSServers)
	_, text = c.get("/form")
	require.Contains(t, text, `value="192.0.2.10/24"`, "what was typed is kept")
	require.NotContains(t, text, "dTpodW50ZXIy", "but for the secret")

	status, _ = c.post("/start", "plan", "another")
	require.Equal(t, http.StatusOK, status)
	require.Empty(t, b.started)
	_, text = c.post("/start", "plan", "plan-1")
	require.Contains(t, text, "Step 3 of 14")
	_, text = c.get("/progress.json")
	require.JSONEq(t, `{"state":"Running","step":3,"steps":14,"title":"Making new certificates"}`, text)

	b.set(failed())
	_, text = c.get("/")
	require.Contains(t, text, `aria-label="L 2 3"`)
	require.Contains(t, text, sitecode.Lookup(sitecode.GatewaySilent).Meaning)
	require.Contains(t, text, "You can try again")

	b.set(succeeded())
	_, text = c.get("/")
	require.Contains(t, text, "console-openshift-console")
	_, text = c.post("/handover")
	require.Equal(t, "password: hunter2\n", text)
	_, text = c.post("/handover")
	require.Contains(t, text, "cannot be downloaded again")
	require.NotContains(t, text, "hunter2")
}

func TestMistakesInTheForm(t *testing.T) {
	for name, k := range map[string]struct {
		change []string
		want   string
	}{
		"address":  {[]string{"address", "192.0.2.10"}, "Address with prefix length: Write an address with a slash"},
		"gateway":  {[]string{"gateway", "198.51.100.1"}, "The router must be in the network 192.0.2.0/24"},
		"same":     {[]string{"gateway", "192.0.2.10"}, "The router cannot have the address of the node"},
		"family":   {[]string{"gateway", "2001:db8::1"}, "Write an address, such as 192.0.2.1"},
		"vlan":     {[]string{"vlan", "4095"}, "Write a number from 1 to 4094"},
		"dns":      {[]string{"dns", "192.0.2.300"}, "must be an IP address"},
		"hostname": {[]string{"hostname", "site_1"}, "must be lower-case letters"},
		"missing":  {[]string{"hostname", " "}, "Name of the node: Please fill this in."},
		"network":  {[]string{"address", "192.0.2.0/24"}, "network or broadcast address"},
		"proxy":    {[]string{"httpproxy", "u:hunter2@p"}, "Must be the URL of a proxy"},
		"secret":   {[]string{"pullsecret", "hunter2"}, "Must be the text of a pull secret"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newBench(t).admitted(t)
			status, text := c.post("/form", append(right(), k.change...)...)
			require.Equal(t, http.StatusUnprocessableEntity, status)
			require.Contains(t, text, k.want)
			require.Contains(t, text, `href="#`+k.change[0]+`"`, "the list links to the input")
			status, text = c.post("/check", append(right(), k.change...)...)
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, text, `"`+k.change[0]+`":`)
		})
	}
}

func TestUpload(t *testing.T) {
	b := newBench(t)
	c := b.admitted(t)
	status, text := c.upload("site.yaml", []byte("apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\nhostname: Site_1\nnoo: 1\n"))
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, text, "site.yaml: line 4: noo: is not a known key")
	require.Contains(t, text, "site.yaml: line 3: hostname:")
	status, text = c.upload("site.yaml", []byte("apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\nhostname: site-1\n"))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "What will happen")

	b.refuse = []siteconfig.Problem{{Key: "nodeIPs[0]", Value: `"192.0.2.10"`, Want: "is in use by 02:00:00:00:00:66"}, {Key: "catalogSources", Want: "must be left out"}}
	status, text = c.post("/form", right()...)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, text, "is in use by 02:00:00:00:00:66.")
	require.Contains(t, text, "catalogSources: must be left out")
}

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

// The page goes when the change is committed and its result was fetched.
func TestThePageCloses(t *testing.T) {
	s := &site{progress: portal.Progress{State: portal.Running}}
	p := portal.New(portal.Options{Site: s, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	certificate, fingerprint, err := portal.Certificate(time.Now(), netip.MustParseAddr("127.0.0.1"))
	require.NoError(t, err)
	require.Len(t, fingerprint, 95)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l, certificate) }()
	conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	require.Equal(t, fingerprint, portal.Fingerprint(conn.ConnectionState().PeerCertificates[0].Raw))
	conn.Close()
	cancel()
	require.True(t, errors.Is(<-ended, context.Canceled))
	_, err = net.Dial("tcp", l.Addr().String())
	require.Error(t, err)
}
