// Package sheet reads tables that people keep in a spreadsheet: CSV with commas or semicolons, as spreadsheets write it, whose first
// line names the columns. It knows no column; packages fleet and sites do.
package sheet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxRows bounds a table.
const maxRows = 100_000

// ErrEmpty is the error of a table without a first line.
var ErrEmpty = errors.New("the table is empty")

// Sheet is a table before any of it is checked.
type Sheet struct {
	Columns []string
	Rows    []Row
}

// Row is a line of a table. It may have more or fewer fields than there are columns; CheckFields says so.
type Row struct {
	// Number is the line of the file that it begins in, from 1.
	Number int
	Fields []string
}

// Read reads a table. Names and fields come without the space around them. The error is ErrEmpty, or names the line that is not CSV.
func Read(data []byte) (Sheet, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	r := csv.NewReader(bytes.NewReader(data))
	r.TrimLeadingSpace, r.FieldsPerRecord = true, -1
	if first, _, _ := bytes.Cut(data, []byte("\n")); bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")) {
		r.Comma = ';'
	}
	var s Sheet
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Sheet{}, fmt.Errorf("read the table: %w", err)
		}
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		switch line, _ := r.FieldPos(0); {
		case s.Columns == nil:
			s.Columns = fields
		case len(s.Rows) == maxRows:
			return Sheet{}, fmt.Errorf("the table has more than %d rows", maxRows)
		default:
			s.Rows = append(s.Rows, Row{Number: line, Fields: fields})
		}
	}
	if s.Columns == nil {
		return Sheet{}, ErrEmpty
	}
	return s, nil
}

// CheckFields says in what a row differs from the first line, "" where it has a field for each column.
func (s Sheet) CheckFields(r Row) string {
	if len(r.Fields) == len(s.Columns) {
		return ""
	}
	return fmt.Sprintf("it has %s, the first line names %s", countOf(len(r.Fields), "field"), countOf(len(s.Columns), "column"))
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
