package portal

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
)

// page is what the templates show.
type page struct {
	Title, Node, Token string
	// Step is the place in Stages, from 1; 0 before the code.
	Step         int
	Stages       []string
	Refresh      bool
	ProblemTitle string
	Problems     []problem
	Groups       []group
	Plan         Plan
	Minutes      string
	// Running is the title while the node is set up.
	Running    string
	Progress   Progress
	Failed     bool
	Fault      sitecode.Entry
	Spoken     string
	HandedOver bool
}

// problem links to the input it is about, if there is one.
type problem struct{ Field, Text string }

const titleRunning = "The node is being set up"

// The stages.
const (
	stageFill = iota + 1
	stagePlan
	stageRun
	stageDone
)

func stageNames() []string { return []string{"Configuration", "Plan", "Progress", "Result"} }

func (p *Portal) renderPage(w http.ResponseWriter, r *http.Request, status int,
	content func(page) templ.Component, data page,
) {
	data.Node, data.Stages = p.options.Node, stageNames()
	if s := sessionOf(r); s != nil {
		data.Token = s.token
	}
	var out bytes.Buffer
	if err := content(data).Render(r.Context(), &out); err != nil {
		p.options.Log.Error("the page cannot be shown", "page", data.Title, "error", err)
		http.Error(w, "this page cannot be shown; open the first page again", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // the browser has gone, or has the page
}

func (p *Portal) showLogin(w http.ResponseWriter, r *http.Request) {
	p.renderLogin(w, r, http.StatusOK)
}

func (p *Portal) renderLogin(w http.ResponseWriter, r *http.Request, status int, problems ...problem) {
	p.renderPage(w, r, status, loginPage, page{Title: "Type the code", ProblemTitle: "Please try again", Problems: problems})
}

func (p *Portal) handleLogin(w http.ResponseWriter, r *http.Request) {
	s, wait := p.door.openSession(addressOf(r), r.PostFormValue("code"))
	switch {
	case wait > 0:
		w.Header().Set("Retry-After", fmt.Sprint(int(wait.Seconds())+1))
		p.renderLogin(w, r, http.StatusTooManyRequests, problem{"code", fmt.Sprintf(
			"Too many wrong codes. Wait %s, then try again.", durationText(wait))})
	case s == nil:
		p.renderLogin(w, r, http.StatusForbidden, problem{"code", "This is not the code that the screen shows now. Each code works once."})
	default:
		http.SetCookie(w, &http.Cookie{Name: sessionCookie, Value: s.id, Path: "/", Secure: true, HttpOnly: true,
			SameSite: http.SameSiteStrictMode, MaxAge: int(sessionLife.Seconds())}) // the node's clock may be wrong
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

// showHome shows the page that fits the state of the node.
func (p *Portal) showHome(w http.ResponseWriter, r *http.Request) {
	now, err := p.options.Site.Progress(r.Context())
	if err != nil {
		p.renderUnavailable(w, r, err)
		return
	}
	switch now.State {
	case Running:
		p.renderPage(w, r, http.StatusOK, progressPage, page{Title: titleRunning, Step: stageRun, Progress: now, Refresh: true})
	case Succeeded:
		p.renderPage(w, r, http.StatusOK, resultPage, page{Title: "Done", Step: stageDone, Progress: now, HandedOver: p.isDownloaded()})
	default:
		p.renderForm(w, r, http.StatusOK, p.drafts.formOf(sessionOf(r)), nil, now)
	}
}

// renderUnavailable says that the node cannot answer now.
func (p *Portal) renderUnavailable(w http.ResponseWriter, r *http.Request, err error) {
	p.options.Log.Error("the node does not answer the page", "error", err)
	p.renderPage(w, r, http.StatusServiceUnavailable, waitPage, page{Title: "Please wait", Refresh: true,
		ProblemTitle: "The node cannot answer now", Problems: []problem{{"", err.Error()}}})
}

// durationText is a duration in words.
func durationText(d time.Duration) string {
	if d <= 90*time.Second {
		return fmt.Sprintf("%d seconds", int(d.Round(time.Second).Seconds())+1)
	}
	return fmt.Sprintf("%d minutes", int(d.Round(time.Minute).Minutes()))
}

// spellCode reads a code letter by letter, for screen readers.
func spellCode(c sitecode.Code) string { return strings.Join(strings.Split(string(c), ""), " ") }
