package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

// Severity is how a check ended.
type Severity string

// Severities.
const (
	// OK: nothing to do.
	OK Severity = "ok"
	// Notice is worth knowing, and no reason to keep the node.
	Notice Severity = "notice"
	// Warning is worth an action, but the node can be shipped.
	Warning Severity = "warning"
	// Failure is a reason to keep the node; so is what could not be checked.
	Failure Severity = "failure"
)

// Check is one line of the report.
type Check struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	// Details name each object that the message counts.
	Details []string `json:"details,omitempty"`
	// Hint says what to do.
	Hint string `json:"hint,omitempty"`
}

// Report is the shipping report of a node.
type Report struct {
	Machine string    `json:"machine"`
	Made    time.Time `json:"made"`
	// ShelfDays is how long the node may be switched off, ShelfEnd when that ends.
	ShelfDays int              `json:"daysOnTheShelf"`
	ShelfEnd  time.Time        `json:"shelfEnd"`
	Facts     relocation.Facts `json:"cluster"`
	Ready     bool             `json:"readyToShip"`
	Checks    []Check          `json:"checks"`
	// Ending are the certificates that end on the shelf.
	Ending []relocation.Certificate `json:"certificatesEndingOnTheShelf,omitempty"`
}

// Count is how many checks ended so.
func (r Report) Count(s Severity) (n int) {
	for _, c := range r.Checks {
		if c.Severity == s {
			n++
		}
	}
	return n
}

// Verdict is the report in a sentence.
func (r Report) Verdict() string {
	if r.Ready {
		return "This node is ready to be shipped."
	}
	return fmt.Sprintf("This node is NOT ready to be shipped: %s.", countNoun(r.Count(Failure), "check has failed", "checks have failed"))
}

func countNoun(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Text writes the report for a terminal.
func (r Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Machine   %s\nCluster   %s, version %s, node %s\nMade      %s\nShelf     %d days, until %s\n\n", r.Machine,
		r.Facts.Domain(), known(r.Facts.Version), r.Facts.Node, r.Made.UTC().Format(time.RFC3339), r.ShelfDays,
		r.ShelfEnd.UTC().Format(time.DateOnly))
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%-8s  %s: %s\n", strings.ToUpper(string(c.Severity)), c.Title, c.Message)
		for _, d := range c.Details {
			fmt.Fprintf(&b, "          - %s\n", d)
		}
		if c.Hint != "" {
			fmt.Fprintf(&b, "          To do: %s\n", c.Hint)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", r.Verdict())
	_, err := io.WriteString(w, b.String())
	return err
}

func known(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}
