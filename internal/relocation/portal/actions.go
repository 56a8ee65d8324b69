package portal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

	"sync"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// drafts keep what the session has typed and the plan it got. A new session starts anew.
type drafts struct {
	mu     sync.Mutex
	of     *session
	values url.Values
	plan   *Plan
}

func (d *drafts) formOf(s *session) url.Values {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of != s {
		return nil
	}
	return d.values
}

// storeDraft remembers the form, without its secret.
func (d *drafts) storeDraft(s *session, values url.Values, plan *Plan) {
	values = maps.Clone(values)
	delete(values, inPull)
	delete(values, "token")
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of, d.values, d.plan = s, values, plan
}

func (d *drafts) planOf(s *session) *Plan {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of != s {
		return nil
	}
	return d.plan
}

func (p *Portal) showForm(w http.ResponseWriter, r *http.Request) {
	p.renderForm(w, r, http.StatusOK, p.drafts.formOf(sessionOf(r)), nil, Progress{State: Waiting})
}

// renderForm shows the form with what was typed and what is wrong with it.
func (p *Portal) renderForm(w http.ResponseWriter, r *http.Request, status int, values url.Values, wrong map[string]string, now Progress,
	others ...problem,
) {
	var ports []Port
	if p.options.Ports != nil {
		ports = p.options.Ports(r.Context())
	}
	data := page{Title: "Configuration of the site", Step: stageFill, ProblemTitle: "Please correct this", Problems: others,
		Groups: formGroups(ports), Progress: now, Failed: now.State == Failed,
		Fault: sitecode.Lookup(now.Code), Spoken: spellCode(now.Code)}
	for i := range data.Groups {
		g := &data.Groups[i]
		for j := range g.Fields {
			f := &g.Fields[j]
			f.Value, f.Error = values.Get(f.Name), wrong[f.Name]
			if f.Error != "" {
				g.Open = true
				data.Problems = append(data.Problems, problem{f.Name, f.Label + ": " + f.Error})
			}
		}
	}
	p.renderPage(w, r, status, formPage, data)
}

// checkForm answers the live validation: the inputs that are wrong, with a sentence each.
func (p *Portal) checkForm(w http.ResponseWriter, r *http.Request) {
	_, wrong := formConfig(r.PostForm)
	p.writeJSON(w, wrong)
}

func (p *Portal) writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.options.Log.Debug("the browser has gone", "error", err)
	}
}

func (p *Portal) submitForm(w http.ResponseWriter, r *http.Request) {
	c, wrong := formConfig(r.PostForm)
	if len(wrong) > 0 {
		p.renderForm(w, r, http.StatusUnprocessableEntity, r.PostForm, wrong, Progress{State: Waiting})
		return
	}
	p.submitConfig(w, r, c, r.PostForm)
}

// uploadFile takes a file in place of the form.
func (p *Portal) uploadFile(w http.ResponseWriter, r *http.Request) {
	refuse := func(problems ...problem) {
		p.renderForm(w, r, http.StatusUnprocessableEntity, p.drafts.formOf(sessionOf(r)), nil, Progress{State: Waiting}, problems...)
	}
	f, header, err := r.FormFile("file")
	if err != nil {
		refuse(problem{"file", "Choose a file first."})
		return
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, siteconfig.MaxSize+1))
	if err != nil {
		refuse(problem{"file", "The file did not arrive whole. Try again."})
		return
	}
	c, found := siteconfig.Decode(data)
	if len(found) > 0 {
		refuse(listProblems(header.Filename, found)...)
		return
	}
	p.submitConfig(w, r, c, p.drafts.formOf(sessionOf(r)))
}

// maxListed is how many problems a page lists.
const maxListed = 20

func listProblems(file string, found []siteconfig.Problem) []problem {
	var out []problem
	for i, f := range found {
		if i == maxListed {
			out = append(out, problem{"file", fmt.Sprintf("And %d more.", len(found)-maxListed)})
			break
		}
		out = append(out, problem{"file", file + ": " + f.String()})
	}
	return out
}

// submitConfig has the node judge a configuration, and shows the plan.
func (p *Portal) submitConfig(w http.ResponseWriter, r *http.Request, c siteconfig.SiteConfig, values url.Values) {
	plan, found, err := p.options.Site.Submit(r.Context(), c)
	switch {
	case err != nil:
		p.renderUnavailable(w, r, err)
		return
	case len(found) > 0:
		wrong, others := map[string]string{}, []problem(nil)
		for _, f := range found {
			if name := inputOf(f.Key); name != "" && wrong[name] == "" {
				wrong[name] = problemSentence(f)
				continue
			}
			others = append(others, problem{"", f.String()})
		}
		p.renderForm(w, r, http.StatusUnprocessableEntity, values, wrong, Progress{State: Waiting}, others...)
		return
	}
	p.drafts.storeDraft(sessionOf(r), values, &plan)
	http.Redirect(w, r, "/plan", http.StatusSeeOther)
}

func (p *Portal) showPlan(w http.ResponseWriter, r *http.Request) {
	plan := p.drafts.planOf(sessionOf(r))
	if plan == nil {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	data := page{Title: "What will happen", Step: stagePlan, Plan: *plan, Running: titleRunning}
	if plan.Expected > 0 {
		data.Minutes = durationText(plan.Expected)
	}
	p.renderPage(w, r, http.StatusOK, planPage, data)
}

func (p *Portal) startPlan(w http.ResponseWriter, r *http.Request) {
	plan := p.drafts.planOf(sessionOf(r))
	if plan == nil || plan.ID != r.PostFormValue("plan") {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	if err := p.options.Site.Start(r.Context(), plan.ID); err != nil && !errors.Is(err, ErrUnderWay) {
		p.renderUnavailable(w, r, err)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (p *Portal) progressJSON(w http.ResponseWriter, r *http.Request) {
	now, err := p.options.Site.Progress(r.Context())
	if err != nil {
		http.Error(w, "the node cannot answer now", http.StatusServiceUnavailable)
		return
	}
	p.writeJSON(w, map[string]any{"state": now.State, "step": now.Step, "steps": now.Steps, "title": now.Title})
}

func (p *Portal) downloadHandover(w http.ResponseWriter, r *http.Request) {
	file, err := p.options.Site.Handover(r.Context())
	switch {
	case errors.Is(err, ErrHandedOver):
		p.markDownloaded()
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	case err != nil:
		p.renderUnavailable(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", file.Name))
	if _, err := w.Write(file.Data); err != nil {
		p.options.Log.Error("the hand-over file did not reach the browser and is wiped", "error", err)
	}
	p.markDownloaded()
}

// markDownloaded notes that the hand-over file is gone.
func (p *Portal) markDownloaded() {
	p.drafts.mu.Lock()
	defer p.drafts.mu.Unlock()
	if !p.isDownloaded() {
		close(p.downloaded)
	}
}

func (p *Portal) isDownloaded() bool {
	select {
	case <-p.downloaded:
		return true
	default:
		return false
	}
}
