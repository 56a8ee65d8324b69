package ipconfig

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

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
