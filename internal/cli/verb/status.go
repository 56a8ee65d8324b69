package verb

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Report is the status of one operation. A domain's report embeds Status and adds fields.
type Report interface {
	output.Answer
	// Core is the part that every report has.
	Core() *Status
}

// Status is what every operation's report has.
type Status struct {
	Operation string `json:"operation,omitempty"`
	Booted    string `json:"booted"`
	Default   string `json:"default"`
	// Where says in a phrase how far the operation is.
	Where    string     `json:"where"`
	Deadline *time.Time `json:"watchdogDeadline,omitempty"`
	Failure  string     `json:"failure,omitempty"`
	Steps    []Step     `json:"steps,omitempty"`
	// Current is the step under way.
	Current  *Current `json:"current,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	// Holder is who has the node's lock now.
	Holder string `json:"holder,omitempty"`
	// Target and Outcome are the domain's own facts as text; its report has them as fields too.
	Target  []Fact `json:"-"`
	Outcome []Fact `json:"-"`
}

// Fact is one labelled line of a status.
type Fact struct{ Label, Text string }

// Core implements Report.
func (s *Status) Core() *Status { return s }

// Current is a step that has not ended.
type Current struct {
	Flow    string    `json:"flow"`
	Step    string    `json:"step"`
	Title   string    `json:"title,omitempty"`
	Index   int       `json:"index"`
	Total   int       `json:"total"`
	Started time.Time `json:"started"`
}

func (c *Current) String() string { return fmt.Sprintf("[%d/%d] %s", c.Index, c.Total, c.Title) }

// Step is one line of the timeline.
type Step struct {
	Flow    string    `json:"flow"`
	Step    string    `json:"step"`
	Title   string    `json:"title,omitempty"`
	Index   int       `json:"index,omitempty"`
	Total   int       `json:"total,omitempty"`
	Ended   time.Time `json:"ended"`
	Seconds float64   `json:"seconds"`
	Result  string    `json:"result"`
	Error   string    `json:"error,omitempty"`
}

// outcomes say how a step ended.
var outcomes = map[string]string{
	string(flow.KindDone): "done", string(flow.KindFailed): "failed",
	string(flow.KindUndone): "undone", string(flow.KindUndoFailed): "could not be undone",
}

// describeOutcome names the step and how it ended.
func (t Step) describeOutcome() string {
	text := fmt.Sprintf("[%d/%d] %s: %s", t.Index, t.Total, t.Title, outcomes[t.Result])
	if t.Error != "" {
		text += ": " + t.Error
	}
	return text
}

// String is outcome with the time it took.
func (t Step) String() string {
	how := "in"
	if t.Error != "" {
		how = "after"
	}
	text := fmt.Sprintf("[%d/%d] %s: %s %s %s", t.Index, t.Total, t.Title, outcomes[t.Result], how, formatDuration(toDuration(t.Seconds)))
	if t.Error != "" {
		text += ": " + t.Error
	}
	return text
}

// Node is what Observe reads.
type Node struct {
	Files       host.Files
	Deployments host.Deployments
}

// Observe reads which systems the node has and who holds its lock; an operation is not known yet.
func (w Wiring) Observe(ctx context.Context, n Node) (Status, []host.Deployment, error) {
	all, err := n.Deployments.List(ctx)
	if err != nil {
		return Status{}, nil, fmt.Errorf("list deployments: %w", err)
	}
	s := Status{Where: "idle"}
	if h, held, err := w.Lock.Holder(ctx); err == nil && held {
		s.Holder = h.String()
	}
	for _, d := range all {
		if d.Booted {
			s.Booted = d.Stateroot
		}
		if d.Default {
			s.Default = d.Stateroot
		}
	}
	return s, all, nil
}

// Fill adds what the operation's journal says.
func (s *Status) Fill(files host.Files, p flow.Progress) {
	s.Operation = p.Operation
	if !p.Deadline.IsZero() {
		s.Deadline = &p.Deadline
	}
	for _, name := range p.Flows() {
		if f := p.Flow(name); f.Failure != "" {
			s.Failure = f.Failure
		}
	}
	for _, t := range p.Timeline {
		s.Steps = append(s.Steps, Step{
			Flow: t.Flow, Step: t.Step, Title: t.Title, Index: t.Index, Total: t.Total, Ended: t.Ended,
			Seconds: t.Took.Seconds(), Result: string(t.Kind), Error: t.Error,
		})
	}
	if f, running := p.Current(); running {
		s.Current = &Current{p.Latest, f.Step, f.Title, f.Index, f.Total, f.StepStarted}
	}
	s.Evidence = operation.Records(files, p.Operation)
}

// Newest observes the operation that was requested last: through the domain that knows it, or by its journal alone.
func (w Wiring) Newest(n Node, domains ...func(context.Context) (Source, error)) func(context.Context) (Source, error) {
	return func(ctx context.Context) (Source, error) {
		var sources []Source
		for _, open := range domains {
			s, err := open(ctx)
			if err != nil {
				return nil, err
			}
			sources = append(sources, s)
		}
		return func(ctx context.Context) (Report, error) {
			newest, err := w.reportLatest(ctx, n)
			if err != nil {
				return nil, err
			}
			for _, source := range sources {
				r, err := source(ctx)
				if err != nil {
					return nil, err
				}
				if r.Core().Operation >= newest.Core().Operation { // identifiers sort by time
					newest = r
				}
			}
			return newest, nil
		}, nil
	}
}

// reportLatest reports the newest operation on record, whatever its flows are.
func (w Wiring) reportLatest(ctx context.Context, n Node) (Report, error) {
	s, _, err := w.Observe(ctx, n)
	if err != nil {
		return nil, err
	}
	ids, err := operation.List(n.Files)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return &s, nil
	}
	id := ids[len(ids)-1]
	entries, err := operation.ReadEntries(n.Files, id)
	if err != nil {
		return nil, err
	}
	p := flow.Fold(id, entries)
	s.Fill(n.Files, p)
	s.Where = describeProgress(p)
	return &s, nil
}

// describeProgress says how far the flow is that wrote last.
func describeProgress(p flow.Progress) string {
	f := p.Flow(p.Latest)
	switch {
	case p.Latest == "":
		return "accepted"
	case f.RolledBack:
		return p.Latest + " failed and was rolled back"
	case f.Finished:
		return p.Latest + " finished"
	}
	return p.Latest + " is running"
}

// Text implements output.Answer.
func (s *Status) Text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	line := func(k, v string) {
		if v != "" {
			fmt.Fprintf(tw, "%s\t%s\n", k, oneLine(v))
		}
	}
	line("Operation", s.Operation)
	line("Where", s.Where)
	line("Booted stateroot", s.Booted)
	line("Boots next", s.Default)
	for _, f := range s.Target {
		line(f.Label, f.Text)
	}
	if s.Deadline != nil {
		line("Watchdog", s.Deadline.Format(time.RFC3339))
	}
	line("Failure", s.Failure)
	for _, f := range s.Outcome {
		line(f.Label, f.Text)
	}
	line("Evidence", strings.Join(s.Evidence, ", "))
	line("Holds the node", s.Holder)
	if c := s.Current; c != nil {
		line("Step", fmt.Sprintf("%d of %d: %s, since %s", c.Index, c.Total, c.Title, c.Started.Format(time.TimeOnly)))
	}
	if len(s.Steps) > 0 {
		fmt.Fprintln(tw, "\nENDED\tFLOW\tSTEP\tSECONDS\tRESULT")
	}
	for _, t := range s.Steps {
		result := strings.TrimSpace(t.Result + " " + oneLine(t.Error))
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.2f\t%s\n", t.Ended.Format(time.TimeOnly), t.Flow, t.Step, t.Seconds, result)
	}
	return tw.Flush()
}

// oneLine keeps an error of several lines from tearing the table.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }
