package portal_test

import (
	"bytes"
	"context"
	"html"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
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
