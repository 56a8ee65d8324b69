package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// table is the report as rows of text; the first cell of a row says what it is.
type table struct {
	rows [][]string
	// notes are rows that are one line of text.
	notes map[int]bool
}

func (t *table) note(format string, args ...any) {
	t.notes[len(t.rows)] = true
	t.rows = append(t.rows, []string{fmt.Sprintf(format, args...)})
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// figures adds a row with one figure of each node.
func (t *table) figures(what string, nodes []Node, figure func(Node) string) {
	row := []string{what}
	for _, n := range nodes {
		row = append(row, figure(n))
	}
	t.row(row...)
}

// Print writes the whole report as one table: a column for each amount of data, all times in seconds.
func (r Report) Print(out io.Writer) error {
	t := &table{notes: map[int]bool{}}
	t.note("%s", r.Command)
	t.note("%d CPUs (%s), %d MiB, Linux %s, %s, %.0f s in all",
		r.Host.CPUs, r.Host.Processor, r.Host.MemoryMiB, r.Host.Kernel, r.Started.Format("2006-01-02 15:04 UTC"), r.Seconds)
	r.reconcile(t)
	if len(r.Nodes) > 0 {
		r.nodes(t)
	}
	return t.write(out)
}

func (r Report) reconcile(t *table) {
	if len(r.Reconcile) == 0 {
		return
	}
	t.note("")
	t.row("OPERATOR, ONE RECONCILIATION", "ms", "KiB", "allocs")
	for _, b := range r.Reconcile {
		t.row("  "+b.Name, fmt.Sprintf("%.2f", b.NsPerOp/1e6), fmt.Sprint(b.BytesPerOp>>10), fmt.Sprint(b.AllocsPerOp))
	}
}

func (r Report) nodes(t *table) {
	t.note("")
	t.figures(fmt.Sprintf("ON A NODE (%s), EXTRA DATA IN /var", r.Nodes[0].Machine), r.Nodes, func(n Node) string { return fmt.Sprintf("%g GB", n.SizeGB) })
	t.figures("files in /var", r.Nodes, func(n Node) string { return fmt.Sprint(n.Files) })
	t.figures("MiB in /var", r.Nodes, func(n Node) string { return fmt.Sprint(n.Bytes >> 20) })
	t.figures("file system", r.Nodes, func(n Node) string { return n.FileSystem })
	t.figures("load of the host, before", r.Nodes, func(n Node) string { return n.LoadBefore })
	t.figures("load of the host, after", r.Nodes, func(n Node) string { return n.LoadAfter })
	t.figures("operator's memory (RSS), MiB", r.Nodes, func(n Node) string { return fmt.Sprintf("%.1f", float64(n.OperatorRSS)/1024) })
	t.figures("API away for a bare reboot", r.Nodes, seconds(func(n Node) float64 { return n.BareReboot }))
	change(t, r.Nodes, "OURS", func(n Node) Change { return n.Ours })
	change(t, r.Nodes, "ORDER OF THE REFERENCE", func(n Node) Change { return n.Reference })
	t.note("")
	t.row("COMPARED")
	t.figures("  reference / ours, API away", r.Nodes, func(n Node) string { return ratio(n.Reference.Outage, n.Ours.Outage) })
	t.figures("  reference / ours, stop to reboot", r.Nodes, func(n Node) string { return ratio(n.Reference.DownToReboot, n.Ours.DownToReboot) })
	t.figures("  API away for our rollback", r.Nodes, seconds(func(n Node) float64 { return n.RollbackOutage }))
	t.note("")
	t.note("All times in seconds. Steps marked * run while the cluster is stopped. Reboot and post-pivot are the same program in both orders.")
}

// change adds the rows of one order of work.
func change(t *table, nodes []Node, title string, which func(Node) Change) {
	t.note("")
	t.row(title)
	steps(t, nodes, func(n Node) []Step { return which(n).Before })
	t.figures("  request to reboot", nodes, seconds(func(n Node) float64 { return which(n).ToReboot }))
	if slices.ContainsFunc(nodes, func(n Node) bool { return which(n).ToBegin > 0 }) {
		t.figures("  of it before the first step", nodes, seconds(func(n Node) float64 { return which(n).ToBegin }))
	}
	t.figures("  of it with the cluster stopped *", nodes, seconds(func(n Node) float64 { return which(n).DownToReboot }))
	t.figures("  reboot and post-pivot, API away", nodes, seconds(func(n Node) float64 { return which(n).Outage - which(n).DownToReboot }))
	t.figures("  API away", nodes, seconds(func(n Node) float64 { return which(n).Outage }))
	t.figures("  API away / bare reboot", nodes, func(n Node) string { return ratio(which(n).Outage, n.BareReboot) })
	t.figures("  request to completed", nodes, seconds(func(n Node) float64 { return which(n).Completed }))
}

// steps adds a row for each step that any of the nodes has, in order.
func steps(t *table, nodes []Node, which func(Node) []Step) {
	var names []string
	for _, n := range nodes {
		for _, s := range which(n) {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	for _, name := range names {
		label := "    " + name
		if s, ok := of(which(nodes[0]), name); ok && s.Down {
			label += " *"
		}
		t.figures(label, nodes, func(n Node) string {
			s, ok := of(which(n), name)
			if !ok {
				return "-"
			}
			return fmt.Sprintf("%.2f", s.Seconds)
		})
	}
}

func seconds(figure func(Node) float64) func(Node) string {
	return func(n Node) string { return fmt.Sprintf("%.2f", figure(n)) }
}

func ratio(a, b float64) string {
	if b <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// write prints the rows with the first column to the left and all others to the right.
func (t *table) write(out io.Writer) error {
	var widths []int
	for i, row := range t.rows {
		for j, cell := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			if !t.notes[i] {
				widths[j] = max(widths[j], len(cell))
			}
		}
	}
	for i, row := range t.rows {
		var line strings.Builder
		line.WriteString(row[0])
		for j, cell := range row {
			if j > 0 && !t.notes[i] {
				fmt.Fprintf(&line, "%*s", widths[j]+2, cell)
			} else if !t.notes[i] {
				line.WriteString(strings.Repeat(" ", widths[0]-len(cell)))
			}
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(line.String(), " ")); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
	}
	return nil
}
