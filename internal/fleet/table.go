package fleet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Columns with a meaning of their own. Every other column is a value for templates.
const (
	columnCluster = "cluster"
	columnCanary  = "canary"

	columnIPv4Address = "ipv4Address"
	columnIPv4Network = "ipv4MachineNetwork"
	columnIPv4Gateway = "ipv4Gateway"
	columnIPv6Address = "ipv6Address"
	columnIPv6Network = "ipv6MachineNetwork"
	columnIPv6Gateway = "ipv6Gateway"
	columnDNSServers  = "dnsServers"
	columnVLANID      = "vlanID"
)

func addressColumns() []string {
	return []string{
		columnIPv4Address, columnIPv4Network, columnIPv4Gateway, columnIPv6Address, columnIPv6Network, columnIPv6Gateway,
		columnDNSServers, columnVLANID,
	}
}

// maxRows bounds a table.
const maxRows = 100_000

var columnName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)

// Row is a line of the table; Number counts the lines of the file from 1.
type Row struct {
	Number int
	Values map[string]string
}

func (r Row) newProblem(column, want string) Problem {
	return Problem{Row: r.Number, Column: column, Value: r.Values[column], Want: want}
}

// Table is what the CSV file says, before any of it is checked but its shape.
type Table struct {
	Columns []string
	Rows    []Row
}

func (t Table) hasColumn(column string) bool { return slices.Contains(t.Columns, column) }

// ReadTable reads a CSV file, with commas or semicolons, as spreadsheets write them. Its first line names the columns.
func ReadTable(data []byte) (Table, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	r := csv.NewReader(bytes.NewReader(data))
	r.TrimLeadingSpace, r.FieldsPerRecord = true, -1
	if first, _, _ := bytes.Cut(data, []byte("\n")); bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")) {
		r.Comma = ';'
	}
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return Table{}, errors.New("the table is empty; its first line must name the columns, of which cluster is one")
	}
	if err != nil {
		return Table{}, fmt.Errorf("read the table: %w", err)
	}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	t := Table{Columns: header}
	problems := checkHeader(header)
	if err := t.readRows(r, &problems); err != nil {
		return Table{}, err
	}
	if len(t.Rows) == 0 && len(problems) == 0 {
		return Table{}, errors.New("the table names no cluster")
	}
	return t, problems.asError()
}

func (t *Table) readRows(r *csv.Reader, problems *Problems) error {
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the table: %w", err)
		}
		line, _ := r.FieldPos(0)
		if len(t.Rows) == maxRows {
			return fmt.Errorf("the table has more than %d rows", maxRows)
		}
		if len(fields) != len(t.Columns) {
			*problems = append(*problems, Problem{Row: line, Want: fmt.Sprintf("it has %s, the first line names %s",
				countOf(len(fields), "field"), countOf(len(t.Columns), "column"))})
			continue
		}
		row := Row{Number: line, Values: map[string]string{}}
		for i, name := range t.Columns {
			row.Values[name] = strings.TrimSpace(fields[i])
		}
		t.Rows = append(t.Rows, row)
	}
}

func checkHeader(header []string) (problems Problems) {
	seen := map[string]bool{}
	for _, name := range header {
		meant := slices.IndexFunc(append(addressColumns(), columnCluster, columnCanary), func(c string) bool {
			return c != name && strings.EqualFold(c, name)
		})
		switch {
		case !columnName.MatchString(name):
			problems = append(problems, Problem{Row: 1, Value: name,
				Want: "the name of a column begins with a letter, and has letters, digits, hyphens and underscores"})
		case meant >= 0:
			problems = append(problems, Problem{Row: 1, Value: name,
				Want: "this column is written " + append(addressColumns(), columnCluster, columnCanary)[meant]})
		case seen[name]:
			problems = append(problems, Problem{Row: 1, Column: name, Want: "it appears twice; remove one"})
		}
		seen[name] = true
	}
	if !seen[columnCluster] {
		problems = append(problems, Problem{Row: 1, Column: columnCluster, Want: "it is missing; it names the ManagedCluster of each site"})
	}
	return problems
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
