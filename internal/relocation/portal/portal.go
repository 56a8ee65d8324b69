package portal

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"io"
	"log/slog"
	"net/http"
	"time"
)

//go:embed assets
var assets embed.FS

// Options are what the page is given.
type Options struct {
	Site Site
	// Node names the machine for the technician, as on its label.
	Node string
	// Ports lists the network ports of the machine; nil where they are not known.
	Ports func(ctx context.Context) []Port
	// ShowCode is told each new code; it puts it on the console. It is called before New returns.
	ShowCode func(code string)
	Now      func() time.Time
	// Rand is the source of codes and sessions; nil is crypto/rand's.
	Rand io.Reader
	Log  *slog.Logger
}

// Port is a network port of the machine.
type Port struct {
	Name string
	// Cable says that it has a signal.
	Cable bool
}

// Portal serves the page. It is an http.Handler; Serve adds what the network side needs.
type Portal struct {
	options Options
	door    *authenticator
	limits  limits
	handler http.Handler
	drafts  drafts
	// downloaded is closed when the hand-over file was.
	downloaded chan struct{}
}

// Bounds on what a client may do.
const (
	maxBody     = 6 << 20 // bytes
	maxRequests = 20      // a second, of one client
	burst       = 80
)

// New makes the first code.
func New(o Options) *Portal {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	o.Node = cmp.Or(o.Node, "this node")
	p := &Portal{options: o, door: newAuthenticator(o), downloaded: make(chan struct{})}
	p.handler = p.newHandler()
	return p
}

func (p *Portal) newHandler() http.Handler {
	mux := http.NewServeMux()
	for _, file := range []string{"style.css", "app.js"} {
		mux.HandleFunc("GET /"+file, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, assets, "assets/"+file)
		})
	}
	mux.HandleFunc("POST /login", p.handleLogin)
	for pattern, page := range map[string]func(http.ResponseWriter, *http.Request){
		"GET /{$}": p.showHome, "GET /form": p.showForm, "GET /plan": p.showPlan, "GET /progress.json": p.progressJSON,
		"POST /form": p.submitForm, "POST /check": p.checkForm, "POST /upload": p.uploadFile, "POST /start": p.startPlan,
		"POST /handover": p.downloadHandover,
	} {
		mux.HandleFunc(pattern, p.door.requireSession(page, p.showLogin))
	}
	return http.MaxBytesHandler(http.NewCrossOriginProtection().Handler(mux), maxBody)
}

// ServeHTTP implements http.Handler.
func (p *Portal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; connect-src 'self'; "+
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if !p.limits.allowRequest(addressOf(r)) {
		h.Set("Retry-After", "1")
		http.Error(w, "too many requests; try again in a moment", http.StatusTooManyRequests)
		return
	}
	p.handler.ServeHTTP(w, r)
}
