package fleet

import (
	"fmt"
	"strings"
)

// Problem is one thing that cannot be used. Row counts the lines of the table from 1; 0 means that it is not about a row.
type Problem struct {
	Row    int
	Column string
	Value  string
	// Want says what is right.
	Want string
}

func (p Problem) String() string {
	var parts []string
	if p.Row > 0 {
		parts = append(parts, fmt.Sprintf("row %d", p.Row))
	}
	if p.Column != "" {
		parts = append(parts, "column "+p.Column)
	}
	text := p.Want
	if p.Value != "" {
		text = fmt.Sprintf("%q: %s", p.Value, p.Want)
	}
	if len(parts) == 0 {
		return text
	}
	return strings.Join(parts, ", ") + ": " + text
}

// Problems are all that is wrong, in the order of the table.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// asError is nil where there is no problem.
func (p Problems) asError() error {
	if len(p) == 0 {
		return nil
	}
	return p
}
