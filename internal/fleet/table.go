package fleet

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/sheet"
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

// ReadTable reads a sheet. The error lists all rows that cannot be used.
func ReadTable(data []byte) (Table, error) {
	read, err := sheet.Read(data)
	if errors.Is(err, sheet.ErrEmpty) {
		return Table{}, errors.New("the table is empty; its first line must name the columns, of which cluster is one")
	}
	if err != nil {
		return Table{}, err
	}
	t := Table{Columns: read.Columns}
	problems := checkHeader(read.Columns)
	for _, r := range read.Rows {
		if want := read.CheckFields(r); want != "" {
			problems = append(problems, Problem{Row: r.Number, Want: want})
			continue
		}
		row := Row{Number: r.Number, Values: map[string]string{}}
		for i, name := range t.Columns {
			row.Values[name] = r.Fields[i]
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 && len(problems) == 0 {
		return Table{}, errors.New("the table names no cluster")
	}
	return t, problems.asError()
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
