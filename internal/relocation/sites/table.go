package sites

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/sheet"
)

// Row is a site as the table has it. Number counts the lines of the file from 1.
type Row struct {
	Number                      int
	Site, Hostname              string
	Cluster, Domain, Port, VLAN string
	// Pools are one or two, of different families; Addresses belong to them in order and may be empty.
	Pools, Addresses []string
	Labels           map[string]string
}

// labelPrefix marks the columns that are labels of the node.
const labelPrefix = "label:"

// columnNames are the known ones, in the order of a table that is written.
func columnNames() []string {
	return []string{"site", "hostname", "cluster", "domain", "port", "vlan", "pool", "address"}
}

// ReadTable reads a sheet. The error lists all rows that cannot be used.
func ReadTable(data []byte) ([]Row, error) {
	read, err := sheet.Read(data)
	if errors.Is(err, sheet.ErrEmpty) {
		return nil, fmt.Errorf("the table is empty; its first line must name the columns: %s", strings.Join(columnNames(), ","))
	}
	if err != nil {
		return nil, err
	}
	header := read.Columns
	if err := checkHeader(header); err != nil {
		return nil, err
	}
	var out []Row
	var problems []error
	for _, r := range read.Rows {
		if want := read.CheckFields(r); want != "" {
			problems = append(problems, fmt.Errorf("row %d: %s", r.Number, want))
			continue
		}
		out = append(out, rowOf(r.Number, header, r.Fields))
	}
	if len(out) == 0 && len(problems) == 0 {
		return nil, errors.New("the table names no site")
	}
	return out, errors.Join(problems...)
}

func checkHeader(header []string) error {
	var problems []error
	seen := map[string]bool{}
	for i, name := range header {
		header[i] = strings.ToLower(name)
		if strings.HasPrefix(header[i], labelPrefix) {
			header[i] = labelPrefix + name[len(labelPrefix):]
		} else if !slices.Contains(columnNames(), header[i]) {
			problems = append(problems, fmt.Errorf("column %q is none of %s, %sNAME", name, strings.Join(columnNames(), ", "), labelPrefix))
		}
		if seen[header[i]] {
			problems = append(problems, fmt.Errorf("column %q appears twice", name))
		}
		seen[header[i]] = true
	}
	for _, needed := range []string{"site", "pool"} {
		if !seen[needed] {
			problems = append(problems, fmt.Errorf("column %q is missing", needed))
		}
	}
	return errors.Join(problems...)
}

func rowOf(line int, header, fields []string) Row {
	row := Row{Number: line, Labels: map[string]string{}}
	for i, name := range header {
		value := fields[i]
		switch name {
		case "site":
			row.Site = value
		case "hostname":
			row.Hostname = value
		case "cluster":
			row.Cluster = value
		case "domain":
			row.Domain = value
		case "port":
			row.Port = value
		case "vlan":
			row.VLAN = value
		case "pool":
			row.Pools = strings.Fields(value)
		case "address":
			row.Addresses = strings.Fields(value)
		default:
			if value != "" {
				row.Labels[strings.TrimPrefix(name, labelPrefix)] = value
			}
		}
	}
	if row.Hostname == "" {
		row.Hostname = row.Site
	}
	return row
}
