package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// Status is the answer of "ip-config status".
type Status struct {
	Operation string `json:"operation,omitempty"`
	Booted    string `json:"booted"`
	Default   string `json:"default"`
	// Where says in a word where the operation stands.
	Where    string     `json:"where"`
	Request  *Target    `json:"request,omitempty"`
	Deadline *time.Time `json:"watchdogDeadline,omitempty"`
	Failure  string     `json:"failure,omitempty"`
	Cause    string     `json:"rollbackCause,omitempty"`
	Recert   string     `json:"recert,omitempty"`
	Steps    []Step     `json:"steps,omitempty"`
	// Current is the step under way.
	Current  *Current `json:"current,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	// Holder is who has the node's lock now.
	Holder string `json:"holder,omitempty"`
}

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

// Target is what the operation is to bring about.
type Target struct {
	Addresses []string `json:"addresses"`
	DNS       []string `json:"dnsServers,omitempty"`
	VLAN      int      `json:"vlanID,omitempty"`
	Old       string   `json:"oldStateroot"`
	New       string   `json:"newStateroot"`
}

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
	string(flow.KindUndone): "taken back", string(flow.KindUndoFailed): "could not be taken back",
}

// outcome names the step and how it ended.
func (t Step) outcome() string {
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
	text := fmt.Sprintf("[%d/%d] %s: %s %s %s", t.Index, t.Total, t.Title, outcomes[t.Result], how, brief(seconds(t.Seconds)))
	if t.Error != "" {
		text += ": " + t.Error
	}
	return text
}

func status(w Wiring) *cobra.Command {
	var format string
	var watch bool
	cmd := &cobra.Command{
		Use: "status", Args: cobra.NoArgs,
		Short: "Say where the change stands, from the journal on this node",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			if watch {
				return watchStatus(cmd.Context(), w, f)
			}
			s, err := readStatus(cmd.Context(), w)
			if err != nil {
				return err
			}
			return output.Print(w.Out, f, s)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false,
		"go on showing it until interrupted: in place on a terminal, else a line for each change")
	return cmd
}

func readStatus(ctx context.Context, w Wiring) (*Status, error) {
	node, _, err := w.Node(ctx, false)
	if err != nil {
		return nil, err
	}
	return describe(ctx, w, node)
}

// describe looks at the node.
func describe(ctx context.Context, w Wiring, node ipconfig.Node) (*Status, error) {
	all, err := node.Deployments.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	s := &Status{Where: "idle"}
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
	r, damage, err := ipconfig.FindRequest(node.Files, all)
	if errors.Is(err, ipconfig.ErrNoRequest) {
		return s, nil
	}
	if err != nil { // this is where somebody looks for help: say what is known
		s.Where, s.Failure = "an operation is prepared that cannot be told; 'lca-cli ip-config cleanup' removes it", err.Error()
		return s, nil //nolint:nilerr // it is part of the answer
	}
	p, err := ipconfig.ReadProgress(node.Files, r.OperationID)
	if err != nil {
		return nil, err
	}
	s.fill(node.Files, r, p)
	if damage != nil {
		s.Failure = damage.Error()
	}
	return s, nil
}

func (s *Status) fill(files host.Files, r ipconfig.Request, p ipconfig.Progress) {
	s.Operation, s.Cause, s.Where = r.OperationID, p.Cause, where(p, s.Booted == r.NewStateroot)
	s.Recert = p.Recert
	s.Request = &Target{DNS: r.DNSServers, VLAN: r.VLANID, Old: r.OldStateroot, New: r.NewStateroot}
	for _, a := range []string{r.IPv4Address, r.IPv6Address} {
		if a != "" {
			s.Request.Addresses = append(s.Request.Addresses, a)
		}
	}
	if !p.Deadline.IsZero() {
		s.Deadline = &p.Deadline
	}
	for _, f := range []ipconfig.FlowProgress{p.PrePivot, p.PostPivot, p.Rollback, p.Cleanup} {
		if f.Failure != "" {
			s.Failure = f.Failure
		}
	}
	for _, t := range p.Timeline {
		s.Steps = append(s.Steps, Step{
			Flow: t.Flow, Step: t.Step, Title: t.Title, Index: t.Index, Total: t.Total, Ended: t.Ended,
			Seconds: t.Took.Seconds(), Result: string(t.Kind), Error: t.Error,
		})
	}
	s.Current = current(p)
	s.Evidence = ipconfig.EvidenceOf(files, r.OperationID)
}

// current is the step that was begun last, unless it ended.
func current(p ipconfig.Progress) *Current {
	f := p.Flow(p.Latest)
	if f == nil || !f.Running() || f.StepStarted.IsZero() {
		return nil
	}
	for _, t := range p.Timeline {
		if t.Flow == p.Latest && t.Step == f.Step && !t.Ended.Before(f.StepStarted) {
			return nil
		}
	}
	return &Current{p.Latest, f.Step, f.Title, f.Index, f.Total, f.StepStarted}
}
