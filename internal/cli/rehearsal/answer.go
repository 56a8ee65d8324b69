// Package rehearsal shows the report of a rehearsal to a person. "lca-cli ip-config rehearse" and "kubectl lca rehearse" print it. It knows
// the API's types alone.
package rehearsal

import (
	"fmt"
	"io"
	"text/tabwriter"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// Rehearsal is a report as an answer.
type Rehearsal struct{ lcav1.Rehearsal }

// Text implements output.Answer.
func (a Rehearsal) Text(w io.Writer) error {
	fmt.Fprintf(w, "Rehearsal  %s: %s\n", a.OperationID, a.Result)
	for _, c := range a.AddressChanges {
		fmt.Fprintf(w, "Address    %s\n", c)
	}
	if a.Message != "" {
		fmt.Fprintf(w, "Message    %s\n", a.Message)
	}
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, result := range []lcav1.ProofResult{lcav1.ProofFailed, lcav1.ProofProved, lcav1.ProofNotProved} {
		fmt.Fprintf(table, "\n%s\n", map[lcav1.ProofResult]string{
			lcav1.ProofFailed: "FAILED", lcav1.ProofProved: "PROVED", lcav1.ProofNotProved: "NOT PROVED",
		}[result])
		none := true
		for _, p := range a.Proofs {
			if p.Result == result {
				none = false
				fmt.Fprintf(table, "  %s\t%s\n\t%s\n", p.Name, p.Title, p.Message)
			}
		}
		if none {
			fmt.Fprintf(table, "  nothing\n")
		}
	}
	fmt.Fprintf(table, "\nEXPECTED OUTAGE\n")
	for _, o := range a.Outage {
		seconds := "?"
		if o.Seconds > 0 {
			seconds = fmt.Sprintf("%d s", o.Seconds)
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\n", seconds, o.Part, o.Source)
	}
	return table.Flush()
}
