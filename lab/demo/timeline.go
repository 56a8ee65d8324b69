package demo

import (
	"fmt"
	"text/tabwriter"
)

// printTimeline shows each step with its seconds, as the node's journal has them.
func (d *Demo) printTimeline() error {
	w := tabwriter.NewWriter(d.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "\nENDED\tFLOW\tSTEP\tSECONDS\tWHAT")
	for _, s := range d.report.Timeline {
		what := s.Title
		if s.Result != "done" {
			what += " (" + s.Result + " " + s.Error + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%s\n", s.Ended.Local().Format("15:04:05.000"), s.Flow, s.Step, s.Seconds, what)
	}
	fmt.Fprintln(w, "\nPHASE\t\t\tSECONDS\tAPI OUTAGE")
	for _, p := range d.report.Phases {
		outage := "-"
		if p.OutageSeconds > 0 {
			outage = fmt.Sprintf("%.1f s", p.OutageSeconds)
		}
		fmt.Fprintf(w, "%s\t\t\t%.1f\t%s\n", p.Name, p.Seconds, outage)
	}
	fmt.Fprintln(w)
	return w.Flush()
}
