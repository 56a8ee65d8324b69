package wire

import (
	"strings"
	"unsafe"
)

// TextOf is a part of a value as a text, without a copy: values that were read are never written to.
func TextOf(part []byte) string {
	return unsafe.String(unsafe.SliceData(part), len(part)) //nolint:gosec // shares memory that nothing changes
}

// IndexColon finds the next colon from a position on; -1 is none.
func IndexColon(text string, from int) int {
	i := strings.IndexByte(text[from:], ':')
	if i < 0 {
		return i
	}
	return from + i
}

// Visitor sees one text of a document and returns what takes its place. The path
// names the fields and indices that lead to it; it is valid during the call only.
type Visitor func(path []string, text string) (string, bool)

// FieldPath splits "a/b/c"; a step that holds a slash itself is written with "|".
func FieldPath(text string) []string {
	steps := strings.Split(text, "/")
	for i := range steps {
		steps[i] = strings.ReplaceAll(steps[i], "|", "/")
	}
	return steps
}

// MatchPath compares a path with a field pattern.
func MatchPath(pattern, at []string) bool {
	for i, step := range pattern {
		if step == "**" {
			return len(at) >= i
		}
		if i >= len(at) || (step != "*" && step != at[i]) {
			return false
		}
	}
	return len(at) == len(pattern)
}

// Edit puts a replacement into a text.
type Edit struct {
	Start, End int
	Text       string
}

// Splice applies edits, which are in order and do not overlap.
func Splice(doc string, edits []Edit) string {
	if len(edits) == 0 {
		return doc
	}
	var out strings.Builder
	last := 0
	for _, e := range edits {
		out.WriteString(doc[last:e.Start])
		out.WriteString(e.Text)
		last = e.End
	}
	out.WriteString(doc[last:])
	return out.String()
}
