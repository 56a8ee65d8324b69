package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
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
	Evidence []string   `json:"evidence,omitempty"`
}

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
	Ended   time.Time `json:"ended"`
	Seconds float64   `json:"seconds"`
	Result  string    `json:"result"`
	Error   string    `json:"error,omitempty"`
}

func status(w Wiring) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "status", Args: cobra.NoArgs,
		Short: "Say where the change stands, from the journal on this node",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			s, err := readStatus(cmd.Context(), w)
			if err != nil {
				return err
			}
			return output.Print(w.Out, f, s)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	return cmd
}

func readStatus(ctx context.Context, w Wiring) (*Status, error) {
	node, _, err := w.Node(ctx, false)
	if err != nil {
		return nil, err
	}
	all, err := node.Deployments.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	s := &Status{Where: "idle"}
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
			Flow: t.Flow, Step: t.Step, Title: t.Title, Ended: t.Ended, Seconds: t.Took.Seconds(), Result: string(t.Kind), Error: t.Error,
		})
	}
	s.Evidence = ipconfig.EvidenceOf(files, r.OperationID)
}

func where(p ipconfig.Progress, pivoted bool) string {
	switch {
	case p.Cleanup.Begun:
		return "cleaning up"
	case p.Rollback.Begun && pivoted:
		return "rolling back"
	case p.Rollback.Begun:
		return "rolled back"
	case pivoted && p.PostPivot.Finished:
		return "changed; waiting for Idle (keep) or Rollback"
	case pivoted:
		return "finishing in the new stateroot"
	case p.PrePivot.Committed:
		return "the old stateroot was booted without a rollback"
	case p.PrePivot.TakenBack:
		return "failed; taken back"
	case p.PrePivot.Begun:
		return "preparing in the old stateroot"
	}
	return "accepted"
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
	if s.Request != nil {
		line("Addresses", strings.Join(s.Request.Addresses, ", "))
		line("DNS servers", strings.Join(s.Request.DNS, ", "))
	}
	if s.Deadline != nil {
		line("Watchdog", s.Deadline.Format(time.RFC3339))
	}
	line("Failure", s.Failure)
	line("Rollback", s.Cause)
	line("Certificates", s.Recert)
	line("Evidence", strings.Join(s.Evidence, ", "))
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
